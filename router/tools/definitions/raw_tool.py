"""The raw tool: one tool in a vendor's words, as every reader returns it before normalization."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from router.errors import RecordRejected
from router.fingerprint import canonical_json
from router.operation import Operation
from router.record import Kind, Link, Origin, Parameter
from router.tools.definitions.json_values import storage_problem


@dataclass(frozen=True, slots=True)
class RawTool:
    """A tool in a vendor's words, with its origin.

    `id` is the source's own id, if it has one; `notices` say what could not be kept. `outputs`, `links`
    and `operation` are within limits of their own already. `shape` describes the key and the
    shape of the parameters; `lost` is the key of parameters that could not be read. `unread` maps other unknown keys to
    their shortened values. Raises RecordRejected for a value that cannot be stored.
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
            raise RecordRejected(origin, f"a tool is a JSON object, this is {_kind(row)}")
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
        return _kind(self.row.get(field))

    def text(self, field: str) -> str:
        """Return a text; empty where it is missing or null."""
        value = self.row.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise RecordRejected(self.origin, f"{field} is {_kind(value)}, not a text")
        return value

    def mapping(self, field: str) -> dict[str, Any]:
        """Return an object; empty where it is missing or null."""
        value = self.row.get(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise RecordRejected(self.origin, f"{field} is {_kind(value)}, not an object")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, or one text as a list; empty where it is missing or null.

        Other JSON values inside the list are kept as JSON text.
        """
        value = self.row.get(field)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list):
            raise RecordRejected(self.origin, f"{field} is {_kind(value)}, not a list")
        return tuple(item if isinstance(item, str) else canonical_json(item) for item in value)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
