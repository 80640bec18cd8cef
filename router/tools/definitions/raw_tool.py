"""The raw tool: one tool in a vendor's words, as every reader returns it before normalization."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from router.errors import RecordRejected
from router.fingerprint import canonical_json
from router.operation import Operation
from router.record import Kind, Link, Origin, Parameter, ToolRecord
from router.tools.definitions.json_values import storage_problem
from router.tools.definitions.rows import parameter_rows

_NOT_ID = re.compile(r"[^A-Za-z0-9._-]+")
_LETTER = re.compile(r"[A-Za-z0-9]")
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


@dataclass(frozen=True, slots=True)
class RawTool:
    """A tool in a vendor's words, with its origin.

    `id` is the source's own id, if it has one; `notices` say what could not be kept. `outputs`, `links` and `operation`
    are already within their limits. `shape` describes the key and the shape of the parameters; `lost` is the key of
    parameters that could not be read. `unread` maps other unknown keys to their shortened values. Raises RecordRejected
    for a value that cannot be stored.
    """

    name: str
    origin: Origin
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    provider: str | None = None
    examples: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    deprecated: bool = False
    notices: tuple[str, ...] = ()
    outputs: tuple[Parameter, ...] = ()
    links: tuple[Link, ...] = ()
    operation: Operation | None = None
    kind: Kind = Kind.TOOL
    instructions: str = ""
    shape: str = field(default="", compare=False)
    lost: str | None = field(default=None, compare=False)
    unread: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if reason := storage_problem([self.input_schema, self.annotations]):
            raise RecordRejected(self.origin, reason)


class FieldReader:
    """Reads the fields of one vendor object. Getters raise RecordRejected, which names the field, for a wrong type."""

    def __init__(self, row: object, origin: Origin) -> None:
        if not isinstance(row, dict):
            raise RecordRejected(origin, f"a tool is a JSON object, this is {_KINDS.get(type(row), 'a number')}")
        self.row: dict[str, Any] = row
        self.origin = origin

    def name(self, field: str = "name") -> str:
        """Return a name: a text that is not empty."""
        value = self.text(field).strip()
        if not value:
            raise RecordRejected(self.origin, f"{field} is missing or empty", keys=tuple(self.row))
        return value

    def kind(self, field: str) -> str:
        """Return the type of a field's value, in words for a message."""
        return _KINDS.get(type(self.row.get(field)), "a number")

    def text(self, field: str) -> str:
        """Return a text; empty where it is missing or null."""
        return str(self._typed(field, str, "a text") or "")

    def mapping(self, field: str) -> dict[str, Any]:
        """Return an object; empty where it is missing or null."""
        return self._typed(field, dict, "an object") or {}

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, or one text as a list; empty where it is missing or null.

        Other JSON values inside the list are kept as JSON text.
        """
        value = self.row.get(field)
        items = [value] if isinstance(value, str) else self._typed(field, list, "a list") or []
        return tuple(item if isinstance(item, str) else canonical_json(item) for item in items)

    def _typed(self, field: str, kind: type, said: str) -> Any:
        value = self.row.get(field)
        if value is not None and not isinstance(value, kind):
            raise RecordRejected(self.origin, f"{field} is {self.kind(field)}, not {said}")
        return value


def normalize(raw: RawTool, parameters: tuple[Parameter, ...] | None = None) -> ToolRecord:
    """Return the record of a raw tool. Its id may collide with another's: see `numbered_id`.

    `parameters`, where they are known, are those of its schema.
    """
    categories = (part.strip() for category in raw.categories for part in category.split(","))
    return ToolRecord(
        tool_id=tool_id_of(raw),
        provider=(raw.provider or "").strip() or None,
        name=raw.name.strip(),
        description=raw.description.strip(),
        parameters=parameter_rows(raw.input_schema) if parameters is None else parameters,
        input_schema=raw.input_schema,
        examples=tuple(example.strip() for example in raw.examples if example.strip()),
        categories=tuple(dict.fromkeys(category for category in categories if category)),
        annotations=raw.annotations,
        deprecated=raw.deprecated,
        origin=raw.origin,
        outputs=raw.outputs,
        links=raw.links,
        kind=raw.kind,
        instructions=raw.instructions,
        operation=raw.operation,
    )


def tool_id_of(raw: RawTool) -> str:
    """Return the id of a raw tool: the source's own, else `<provider>/<name>`, each in [A-Za-z0-9._-]."""
    parts = ((raw.provider or "").strip(), raw.name.strip())
    return raw.id or "/".join(id_part(part) for part in parts if part)


def numbered_id(tool_id: str, numbers: dict[str, int], records: Mapping[str, ToolRecord]) -> str:
    """Return the next free `tool_id~2`, `tool_id~3`, … for an id that is taken; updates the counts in `numbers`."""
    numbers.setdefault(tool_id, 1)
    while True:
        numbers[tool_id] += 1
        candidate = f"{tool_id}~{numbers[tool_id]}"
        if candidate not in records:
            return candidate


def id_part(text: str) -> str:
    """Return a label or name as it stands in ids."""
    part = re.sub("-{2,}", "-", _NOT_ID.sub("-", text))
    # A name in another script becomes only dashes, so that all such tools would share an id: use its code points.
    return part if _LETTER.search(part) else "-".join(f"u{ord(character):04x}" for character in text)
