"""A tool as a vendor writes it → ToolRecord, by the same rules at build time and at run time.

>>> record_of({"type": "function", "function": {"name": "list_charges", "parameters": {…}}}, provider="stripe")
ToolRecord(tool_id='stripe/list_charges', …)
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from router.errors import RecordRejected, SettingsInvalid
from router.fingerprint import fingerprint
from router.record import Origin, ToolRecord
from router.tools.definitions.json_values import parse_json, replace_unstorable
from router.tools.definitions.nesting import definitions_within
from router.tools.definitions.normalization import normalize, numbered_id
from router.tools.definitions.parameters import parameter_rows
from router.tools.definitions.vendors import read_tool

__all__ = ["Definition", "record_of", "records_of"]

Definition = ToolRecord | Mapping[str, Any]

# Characters of one definition. The heaviest of 9,976 real MCP tools has 147,419; a server must not fill the memory.
_MOST = 1_000_000
_REGISTERED = Origin("registered", "")


def record_of(definition: Definition, provider: str | None = None) -> ToolRecord:
    """Return the record of a definition in any shape that a build reads: OpenAI's (chat or Responses), Anthropic's,
    Gemini's, a row of MCP's `tools/list` or of this project's JSONL; or of a record.

    `provider` is the label that the tool's id begins with; a record keeps its own, and so does a row that has both `id`
    and `provider`, unless there is a label. The definition is copied, so that it may be changed afterwards. Raises
    SettingsInvalid, naming the field, for what is none.
    """
    try:
        if isinstance(definition, ToolRecord):
            return _checked(definition)
        row, provider = _copied(definition), provider and replace_unstorable(provider)
        # Under a label whoever lists the tools could otherwise take the id of another's.
        raw = read_tool(row, _REGISTERED, own_id=provider is None and {"id", "provider"} <= row.keys())
        return normalize(replace(raw, provider=provider or raw.provider))
    except RecordRejected as rejected:
        raise SettingsInvalid(f"the tool {_named(definition)} cannot be used: {rejected.reason}") from None


def records_of(definitions: Iterable[Definition], provider: str | None = None) -> tuple[ToolRecord, ...]:
    """Return the records of several definitions; of one that holds tools (`{"name": "ClickHouse", "tools": […]}`)
    those of its tools, whose provider it is. As in a build, of exact duplicates one is kept, and another tool of an id
    that is taken gets `~2`, `~3` in their order. Raises SettingsInvalid, with the place of the one that is wrong."""
    if isinstance(definitions, Mapping | ToolRecord | str):
        raise SettingsInvalid("tools is one definition, it must be a sequence of them")
    kept: dict[str, ToolRecord] = {}
    contents: set[str] = set()
    numbers: dict[str, int] = {}
    held = (
        one for place, definition in enumerate(definitions) for one in definitions_within(definition, f"tools[{place}]")
    )
    for one in held:
        try:
            record = record_of(one.row, provider or one.provider)
        except SettingsInvalid as error:
            raise SettingsInvalid(f"{one.pointer}: {error}") from None
        content = fingerprint(record.content())
        if content in contents:
            continue
        if record.tool_id in kept:
            record = replace(record, tool_id=numbered_id(record.tool_id, numbers, kept))
        contents.add(content)
        kept[record.tool_id] = record
    return tuple(kept.values())


def _checked(record: ToolRecord) -> ToolRecord:
    """A record of whoever made it, held against its own types."""
    try:
        checked = msgspec.convert(_copied(record.to_json()), ToolRecord)
    except msgspec.ValidationError as error:
        raise RecordRejected(_REGISTERED, str(error)) from None
    except (AttributeError, TypeError, ValueError) as error:  # `to_json` of a record that is none
        raise RecordRejected(_REGISTERED, f"it is no record: {error}") from None
    for field in ("tool_id", "name"):
        if not getattr(checked, field).strip():
            raise RecordRejected(_REGISTERED, f"{field} is missing or empty")
    # Parameters follow from the schema: nobody who writes a record by hand should have to write them twice.
    return checked if checked.parameters else replace(checked, parameters=parameter_rows(checked.input_schema))


def _copied(definition: object) -> dict[str, Any]:
    """A definition as JSON has it. Raises RecordRejected where JSON cannot say it."""
    if not isinstance(definition, Mapping):
        raise RecordRejected(_REGISTERED, f"a definition is an object, this is {type(definition).__name__}")
    try:
        text = json.dumps(definition, default=_plain, allow_nan=False)
        if len(text) > _MOST:
            raise RecordRejected(_REGISTERED, f"it has {len(text):,} characters, more than {_MOST:,}")
        row: dict[str, Any] = parse_json(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordRejected(_REGISTERED, f"it is not JSON: {error}") from None
    return row


def _plain(value: object) -> object:
    if isinstance(value, Mapping):  # a record's read-only ones
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _named(definition: object) -> str:
    """A definition for a message: by its name, where it has one."""
    if isinstance(definition, ToolRecord):
        return f"{definition.tool_id!r:.80}"
    inner = definition.get("function", definition) if isinstance(definition, Mapping) else definition
    return f"{inner['name'] if isinstance(inner, Mapping) and 'name' in inner else inner!r:.80}"
