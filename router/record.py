"""The tool record: one tool in normal form, as every stage uses it and the router returns it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_HINTS = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open-world",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One leaf or branch of a tool's input schema.

    Attributes:
        path: Its place, dotted, with `[]` for array items: `customer.addresses[].city`.
        type: Its JSON type, or several joined.
        description: What the vendor says of it.
        enum: The values that it may have, where they are listed.
        required: Whether a call must have it.
    """

    path: str
    type: str
    description: str = ""
    enum: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that a record was read from: a file, URL or command, and a JSON pointer or line within it."""

    file: str
    pointer: str


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """One tool.

    Attributes:
        tool_id: `<provider>/<name>`, or the id that its source gives.
        provider: Who offers the tool; None where nobody is named.
        name: The name that its vendor gave it.
        description: What the vendor says of it.
        parameters: The parameters, flat, for search and people.
        input_schema: The JSON Schema of its arguments, for a model.
        examples: Examples of requests or calls, from the vendor.
        categories: Its categories, OpenAPI tags among them.
        annotations: The vendor's hints (MCP's `readOnlyHint`, an operation's method and path): shown, not trusted.
        deprecated: Whether the vendor says that it is.
        origin: Where the record was read.
    """

    tool_id: str
    provider: str | None
    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    input_schema: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    examples: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    deprecated: bool = False
    origin: Origin = Origin("", "")

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the categories (OpenAPI tags among them), then the names of the MCP hints that are true."""
        hints = (tag for hint, tag in _HINTS.items() if self.annotations.get(hint) is True)
        return (*self.categories, *hints)

    def content(self) -> dict[str, Any]:
        """Return the record's JSON without origin and tool id: the input of its content hash."""
        row = self.to_json()
        del row["origin"], row["tool_id"], row["parameters"]  # parameters are derived from input_schema
        return row

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, of which `from_json` makes an equal record."""
        return {
            "tool_id": self.tool_id,
            "provider": self.provider,
            "name": self.name,
            "description": self.description,
            "parameters": [
                {
                    "path": p.path,
                    "type": p.type,
                    "description": p.description,
                    "enum": list(p.enum),
                    "required": p.required,
                }
                for p in self.parameters
            ],
            "input_schema": dict(self.input_schema),
            "examples": list(self.examples),
            "categories": list(self.categories),
            "annotations": dict(self.annotations),
            "deprecated": self.deprecated,
            "origin": {"file": self.origin.file, "pointer": self.origin.pointer},
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "ToolRecord":
        """Return the record of a dict that `to_json` made. Raises KeyError or TypeError for any other."""
        return cls(
            tool_id=row["tool_id"],
            provider=row["provider"],
            name=row["name"],
            description=row["description"],
            parameters=tuple(Parameter(**{**p, "enum": tuple(p["enum"])}) for p in row["parameters"]),
            input_schema=row["input_schema"],
            examples=tuple(row["examples"]),
            categories=tuple(row["categories"]),
            annotations=row["annotations"],
            deprecated=row["deprecated"],
            origin=Origin(**row["origin"]),
        )
