"""Definitions of tools in any format that a build reads, made into records."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from router.errors import RecordRejected, SettingsInvalid
from router.fingerprint import fingerprint
from router.record import Origin, ToolRecord
from router.tools.definitions.json_values import parse_json, replace_unstorable
from router.tools.definitions.raw_tool import normalize, numbered_id
from router.tools.definitions.rows import parameter_rows
from router.tools.definitions.vendors import read_tool

Definition = ToolRecord | Mapping[str, Any]

# Characters of one definition: a server must not fill the memory. The longest of 9,976 real MCP tools has 147,419.
_MAX_CHARACTERS = 1_000_000
_REGISTERED = Origin("registered", "")


def record_of(definition: Definition, provider: str | None = None) -> ToolRecord:
    """Return the record of a definition in any format that a build reads, or of a record.

    Formats are OpenAI's (chat or Responses), Anthropic's, Gemini's, a row of MCP's `tools/list` or of this project's
    JSONL. `provider` is the label that the tool's id begins with. A record keeps its own id and provider; so does a row
    that has both `id` and `provider`, where no label is given. The definition is copied. Raises SettingsInvalid, which
    names the field, for an invalid definition.
    """
    try:
        if isinstance(definition, ToolRecord):
            return _checked_record(definition)
        row, provider = _json_copy(definition), provider and replace_unstorable(provider)
        # Without the row's id under a label: a server could otherwise take the id of another's tool.
        raw = read_tool(row, _REGISTERED, own_id=provider is None and {"id", "provider"} <= row.keys())
        return normalize(replace(raw, provider=provider or raw.provider))
    except RecordRejected as rejected:
        raise SettingsInvalid(f"the tool {_name_for_message(definition)} cannot be used: {rejected.reason}") from None


def distinct(records: Iterable[ToolRecord]) -> Iterator[ToolRecord | None]:
    """Yield each record under its own id, `~2`, `~3` in order where another tool has it; None for a duplicate."""
    taken: dict[str, ToolRecord] = {}
    contents: set[str] = set()
    numbers: dict[str, int] = {}
    for record in records:
        content = fingerprint(record.content())
        if content in contents:
            yield None
            continue
        if record.tool_id in taken:
            record = replace(record, tool_id=numbered_id(record.tool_id, numbers, taken))
        contents.add(content)
        taken[record.tool_id] = record
        yield record


def _checked_record(record: ToolRecord) -> ToolRecord:
    """Return a copy of a caller's record. Raises RecordRejected where a field has the wrong type or is missing."""
    try:
        checked = msgspec.convert(_json_copy(record.to_json()), ToolRecord)
    except (AttributeError, TypeError, ValueError) as error:
        raise RecordRejected(_REGISTERED, f"it is no record: {error}") from None
    for field in ("tool_id", "name"):
        if not getattr(checked, field).strip():
            raise RecordRejected(_REGISTERED, f"{field} is missing or empty")
    # Parameters are derived from the schema, so that records written by hand may omit them.
    return checked if checked.parameters else replace(checked, parameters=parameter_rows(checked.input_schema))


def _json_copy(definition: object) -> dict[str, Any]:
    """Return a definition as parsed JSON. Raises RecordRejected where it is not an object, not JSON, or too long."""
    if not isinstance(definition, Mapping):
        raise RecordRejected(_REGISTERED, f"a definition is an object, this is {type(definition).__name__}")
    try:
        text = json.dumps(definition, default=_as_dict, allow_nan=False)
        if len(text) > _MAX_CHARACTERS:
            raise RecordRejected(_REGISTERED, f"it has {len(text):,} characters, more than {_MAX_CHARACTERS:,}")
        row: dict[str, Any] = parse_json(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordRejected(_REGISTERED, f"it is not JSON: {error}") from None
    return row


def _as_dict(value: object) -> object:
    if isinstance(value, Mapping):  # a record's read-only mappings
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _name_for_message(definition: object) -> str:
    """Return the name of a definition for a message, or its repr where it has none, shortened."""
    if isinstance(definition, ToolRecord):
        return f"{definition.tool_id!r:.80}"
    inner = definition.get("function", definition) if isinstance(definition, Mapping) else definition
    return f"{inner['name'] if isinstance(inner, Mapping) and 'name' in inner else inner!r:.80}"
