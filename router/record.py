"""The tool record: one tool in normal form, as every stage uses it and the router returns it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from router.operation import Operation

_HINTS = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open-world",
}


class Kind(StrEnum):
    """What an entry of a catalog is: a tool to be called, or a text that tells a model how to do something.

    A SKILL is a folder with a SKILL.md, whose instructions are read when it is chosen. A PROMPT is a template of a
    server, with arguments.
    """

    TOOL = "tool"
    SKILL = "skill"
    PROMPT = "prompt"


class Parameter(msgspec.Struct, frozen=True):
    """One leaf or branch of a tool's input schema, or of the schema of its answer.

    Attributes:
        path: Its place, dotted, with `[]` for array items: `customer.addresses[].city`.
        type: Its JSON type, or several joined.
        description: What the vendor says of it.
        enum: The values that it may have, where they are listed.
        required: Whether a call must have it; of an answer, whether the vendor says that it always has it.
    """

    path: str
    type: str
    description: str = ""
    enum: tuple[str, ...] = ()
    required: bool = False

    def row(self) -> dict[str, Any]:
        """Return a JSON-ready dict with all fields."""
        return {
            "path": self.path,
            "type": self.type,
            "description": self.description,
            "enum": list(self.enum),
            "required": self.required,
        }

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict without empty fields, of which `from_json` makes an equal row."""
        optional = {"description": self.description, "enum": list(self.enum), "required": self.required}
        return {"path": self.path, "type": self.type, **{name: value for name, value in optional.items() if value}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Parameter":
        """Return the row of a dict, whose empty fields may be missing. Raises ValueError for any other."""
        return msgspec.convert(row, cls)


class Link(msgspec.Struct, frozen=True):
    """A link of an OpenAPI document: after a call of this tool, the value of another tool's parameter is known.

    Attributes:
        parameter: The parameter of the other tool.
        tool: The name of the other tool, which is of the same document.
        expression: Where the value is, such as `$response.body#/id`, or `$request.path.id` where it was given before.
    """

    parameter: str
    tool: str
    expression: str


class Origin(msgspec.Struct, frozen=True):
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
        outputs: What a call answers, flat, as far as the vendor declares it and within narrow limits. It is evidence of
            what a tool finds for builds: neither searched nor handed to a model. Records that a router gives have none.
        links: Which parameters of other tools the answer fills, as an OpenAPI document says; for builds too.
        operation: How its API is called, where an OpenAPI document says it. Records that a router gives have none:
            see `Router.complete_record`.
        kind: What it is: a tool, a skill or a prompt.
        instructions: Of a skill, what a model reads once it has chosen it. It is not searched. Records that a router
            gives have none: `Router.instructions` reads them.
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
    origin: Origin = field(default=Origin("", ""))
    outputs: tuple[Parameter, ...] = ()
    links: tuple[Link, ...] = ()
    operation: Operation | None = None
    kind: Kind = Kind.TOOL
    instructions: str = ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the categories (OpenAPI tags among them), then the names of the MCP hints that are true."""
        hints = (tag for hint, tag in _HINTS.items() if self.annotations.get(hint) is True)
        return (*self.categories, *hints)

    def without_outputs(self) -> "ToolRecord":
        """Return the record as answers have it, without what stands beside it in a snapshot's line."""
        if not (self.outputs or self.links or self.operation or self.instructions):
            return self
        return replace(self, outputs=(), links=(), operation=None, instructions="")

    def content(self) -> dict[str, Any]:
        """Return the record's JSON without origin, tool id and operation: the input of its content hash.

        An API that moves to another server stays the same tool: a build hashes operations by themselves.
        """
        row = replace(self, operation=None, parameters=()).to_json()  # these are derived from input_schema
        del row["origin"], row["tool_id"], row["parameters"]
        return row

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, of which `from_json` makes an equal record."""
        row: dict[str, Any] = {
            "tool_id": self.tool_id,
            "provider": self.provider,
            "name": self.name,
            "description": self.description,
            "parameters": [parameter.row() for parameter in self.parameters],
            "input_schema": dict(self.input_schema),
            "examples": list(self.examples),
            "categories": list(self.categories),
            "annotations": dict(self.annotations),
            "deprecated": self.deprecated,
            "origin": {"file": self.origin.file, "pointer": self.origin.pointer},
        }
        # Omitted where empty, so that the hashes of records without them do not change.
        if self.outputs:
            row["outputs"] = [output.to_json() for output in self.outputs]
        if self.links:
            row["links"] = [msgspec.structs.asdict(link) for link in self.links]
        if self.operation:
            row["operation"] = self.operation.to_json()
        if self.kind is not Kind.TOOL:
            row["kind"] = str(self.kind)
        if self.instructions:
            row["instructions"] = self.instructions
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "ToolRecord":
        """Return the record of a dict that `to_json` made. Raises ValueError for any other."""
        return msgspec.convert(row, cls)
