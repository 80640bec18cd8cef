"""What every reader gives: a vendor's tool, unharmonised, with its origin, and what of it was not read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from router.errors import RecordRejected
from router.fingerprint import canonical_json
from router.record import Origin
from router.tools.definitions.json_values import storage_problem


@dataclass(frozen=True, slots=True)
class RawTool:
    """A tool in a vendor's words. `id` is the source's own, where it has one; `notices` say what could not be kept.

    `shape` says where the parameters stood and in which shape; `lost` names the key of declared parameters that no
    reader understands. `unread` are other keys that no reader knows, each with what it says, shortened. Raises
    RecordRejected for a value that cannot be stored.
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
    shape: str = field(default="", compare=False)
    lost: str | None = field(default=None, compare=False)
    unread: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if reason := storage_problem([self.input_schema, self.annotations]):
            raise RecordRejected(self.origin, reason)


class FieldReader:
    """Typed access to one vendor object: each getter returns the value, or rejects the record and says which field."""

    def __init__(self, row: object, origin: Origin) -> None:
        if not isinstance(row, dict):
            raise RecordRejected(origin, f"a tool is a JSON object, this is {_kind(row)}")
        self.row: dict[str, Any] = row
        self.origin = origin

    def name(self, field: str = "name") -> str:
        """A name: a text that is not empty."""
        value = self.text(field).strip()
        if not value:
            raise RecordRejected(self.origin, f"{field} is missing or empty", keys=tuple(self.row))
        return value

    def kind(self, field: str) -> str:
        """What kind of value a field has, in words."""
        return _kind(self.row.get(field))

    def text(self, field: str) -> str:
        """A text; missing and null are empty."""
        value = self.row.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise RecordRejected(self.origin, f"{field} is {_kind(value)}, not a text")
        return value

    def mapping(self, field: str) -> dict[str, Any]:
        """An object; missing and null are empty."""
        value = self.row.get(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise RecordRejected(self.origin, f"{field} is {_kind(value)}, not an object")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of texts, or one text; missing and null are empty; other JSON inside a list is kept as JSON text."""
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
