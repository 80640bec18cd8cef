"""The table of provider formats: `ProviderFormat` has an entry for each. `Detail` says how much of a tool is shown.

To add a format, write its entry in `ProviderFormat` and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from router.errors import SettingsInvalid, quoted

Schema = dict[str, Any]
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class ToolParts:
    """The parts of one tool, from which a format makes the tool that its provider takes.

    `named` has `name`, and `description` where there is one. `is_strict` says that `schema` is to be followed strictly.
    `title` and `hints` are those of the record's annotations; None and empty where it has none.
    """

    named: Mapping[str, str]
    schema: Schema
    is_strict: bool
    title: str | None
    hints: Mapping[str, bool]

    @property
    def strict_flag(self) -> dict[str, bool]:
        """Return `{"strict": True}` for a strict tool, and an empty dict for any other."""
        return {"strict": True} if self.is_strict else {}


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What a provider's strict mode takes in one request, all its tools together: strict tools, optional properties and
    properties of several types."""

    tools: int
    optional: int
    unions: int


@dataclass(frozen=True, slots=True)
class StrictLimits:
    """What a provider's strict mode takes in one schema; `request` says what it takes in one request, None for any.

    `null_for_optional` says that an optional property is required and may be null, `bounds` that numbers, texts and
    arrays may be bounded, `recursion` that a schema may refer to itself. An enum of more than `many_values` may have
    `many_characters` in all.
    """

    null_for_optional: bool
    bounds: bool
    recursion: bool
    request: RequestLimits | None = None
    properties: int = 5_000
    levels: int = 10
    values: int = 1_000
    characters: int = 120_000
    many_values: int = 250
    many_characters: int = 15_000


OPENAI_STRICT = StrictLimits(null_for_optional=True, bounds=True, recursion=True)
# Anthropic, "JSON schema limitations": beyond them the whole request fails, "Schema is too complex for compilation".
ANTHROPIC_STRICT = StrictLimits(
    null_for_optional=False, bounds=False, recursion=False, request=RequestLimits(tools=20, optional=24, unions=16)
)


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """How a provider takes tools.

    Attributes:
        shape: Makes the tool from its parts.
        schema_path: The keys that lead to the schema in the tool.
        length: The greatest length of a name.
        marks: The characters that a name may have besides ASCII letters and digits, `_` and `-` among them.
        cap: The greatest number of tools in one request; None for any number.
        combined_root: Whether the root of a schema may be a combination (anyOf, oneOf, allOf).
        plain_parameters: Whether the names of root parameters must match `^[a-zA-Z0-9_.-]{1,64}$`.
        portable_patterns: Whether a `pattern` must be one that every engine compiles, without lookaround and `\\p{…}`.
        openapi_subset: Whether a schema must be in the part of OpenAPI 3.0 that Gemini takes, in place of JSON Schema.
        first_letter: Whether a name must begin with a letter or `_`.
        strict_limits: The limits of the provider's strict mode; None where it has none.
        deferrable: Whether a tool may be marked with `defer_loading`, so that the provider's tool search loads it when
            the model asks for it.
    """

    shape: Callable[[ToolParts], dict[str, Any]]
    schema_path: tuple[str, ...]
    length: int
    marks: str = "_-"
    cap: int | None = None
    combined_root: bool = False
    plain_parameters: bool = False
    portable_patterns: bool = False
    openapi_subset: bool = False
    first_letter: bool = False
    strict_limits: StrictLimits | None = None
    deferrable: bool = False


def _parameters(parts: ToolParts) -> dict[str, Any]:
    return {**parts.named, "parameters": parts.schema, **parts.strict_flag}


def _openai(parts: ToolParts) -> dict[str, Any]:
    return {"type": "function", "function": _parameters(parts)}


def _responses(parts: ToolParts) -> dict[str, Any]:
    # Responses is strict by default.
    return {"type": "function", **parts.named, "parameters": parts.schema, "strict": parts.is_strict}


def _anthropic(parts: ToolParts) -> dict[str, Any]:
    return {**parts.named, "input_schema": parts.schema, **parts.strict_flag}


def _gemini(parts: ToolParts) -> dict[str, Any]:
    # An object without properties is refused: a function without parameters has none.
    return {**parts.named, **({"parameters": parts.schema} if parts.schema.get("properties") else {})}


def _bedrock(parts: ToolParts) -> dict[str, Any]:
    return {"toolSpec": {**parts.named, "inputSchema": {"json": parts.schema}}}


def _mcp(parts: ToolParts) -> dict[str, Any]:
    title = {} if parts.title is None else {"title": parts.title}
    annotations = {"annotations": dict(parts.hints)} if parts.hints else {}
    return {**parts.named, **title, "inputSchema": parts.schema, **annotations}


# Limits that are not in a provider's reference are in its error messages:
#   OpenAI: "The name of the function to be called. Must be a-z, A-Z, 0-9, or contain underscores and dashes, with a
#     maximum length of 64"; "A max of 128 functions are supported" (API reference, chat completions);
#     "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level".
#   Anthropic: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"; "input_schema does not
#     support oneOf, allOf, or anyOf at the top level"; "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
#   MCP 2025-11-25, server/tools, Tool Names: 1 to 128 of A-Z, a-z, 0-9, underscore, hyphen and dot.
#   Gemini and Vertex, FunctionDeclaration: "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or
#     contain underscores, colons, dots, and dashes, with a maximum length of 64".
#   Amazon Bedrock, ToolSpecification of Converse: a name of 1 to 64 of `[a-zA-Z0-9_-]`; Claude's keys as at Anthropic.
#   LangChain hands a dict on to any model; OpenAI's limits are the narrowest.
class ProviderFormat(StrEnum):
    """The format of a provider's tools. `spec` says how its tools are made."""

    spec: FormatSpec

    def __new__(cls, name: str, *specs: FormatSpec) -> "ProviderFormat":
        """Return the member of one entry: its name and its rules. A look-up, `ProviderFormat("mcp")`, has no rules."""
        member = str.__new__(cls, name)
        member._value_ = name
        (member.spec,) = specs
        return member

    # Chat completions.
    OPENAI = (
        "openai",
        FormatSpec(
            _openai, ("function", "parameters"), 64, cap=128, portable_patterns=True, strict_limits=OPENAI_STRICT
        ),
    )
    # OpenAI's Responses API.
    RESPONSES = (
        "responses",
        FormatSpec(
            _responses,
            ("parameters",),
            64,
            cap=128,
            portable_patterns=True,
            strict_limits=OPENAI_STRICT,
            deferrable=True,
        ),
    )
    ANTHROPIC = (
        "anthropic",
        FormatSpec(
            _anthropic, ("input_schema",), 128, plain_parameters=True, strict_limits=ANTHROPIC_STRICT, deferrable=True
        ),
    )
    MCP = "mcp", FormatSpec(_mcp, ("inputSchema",), 128, marks="_.-", combined_root=True)
    LANGCHAIN = (
        "langchain",
        FormatSpec(_parameters, ("parameters",), 64, portable_patterns=True, strict_limits=OPENAI_STRICT),
    )
    # Function declarations of Gemini and Vertex: `types.Tool(function_declarations=rendered.tools)`.
    GEMINI = "gemini", FormatSpec(_gemini, ("parameters",), 64, openapi_subset=True, first_letter=True)
    # Amazon Bedrock's Converse: `toolConfig={"tools": rendered.tools}`.
    BEDROCK = "bedrock", FormatSpec(_bedrock, ("toolSpec", "inputSchema", "json"), 64, plain_parameters=True)


class Detail(StrEnum):
    """How much of a tool is shown, the most first.

    FULL is the record. SHORT keeps each name, type, enum and required parameter, and cuts what is prose: the tool can
    still be called. SIGNATURE is one line and an open schema: the model asks for the schema, or calls by the line.
    """

    FULL = "full"
    SHORT = "short"
    SIGNATURE = "signature"


class VendorText(StrEnum):
    """Which text of a tool's vendor a model is handed: the trusted part of it, or all as the vendor wrote it."""

    TRUSTED = "trusted"
    VERBATIM = "verbatim"


def parse_choice(kind: type[Choice], value: str) -> Choice:
    """Return the member of an enum that a value names. Raises SettingsInvalid where there is none."""
    try:
        return kind(value)
    except ValueError:
        argument = {ProviderFormat: "form", VendorText: "vendor_text"}.get(kind, kind.__name__.lower())
        raise SettingsInvalid(f"there is no {argument} {quoted(value)}: choose from {', '.join(kind)}") from None
