"""The table of provider formats: `ProviderFormat` has an entry for each. `Detail` says how much of a tool is shown.

To add a format, write its entry in `ProviderFormat` and nothing else.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, TypeVar

import msgspec

from router.errors import SettingsInvalid, quoted

Schema = dict[str, Any]
Choice = TypeVar("Choice", bound=StrEnum)


class StrictLimits(msgspec.Struct, frozen=True):
    """What a provider's strict mode takes in one schema; `request` says what it takes in one request, by name.

    `null_for_optional` says that an optional property is required and may be null, `bounds` that numbers, texts and
    arrays may be bounded, `recursion` that a schema may refer to itself. An enum of more than `many_values` may have
    `many_characters` in all.
    """

    null_for_optional: bool
    bounds: bool
    recursion: bool
    request: Mapping[str, int] = msgspec.field(default_factory=dict)
    properties: int = 5_000
    levels: int = 10
    values: int = 1_000
    characters: int = 120_000
    many_values: int = 250
    many_characters: int = 15_000


OPENAI_STRICT = StrictLimits(null_for_optional=True, bounds=True, recursion=True)
# Anthropic, "JSON schema limitations": beyond them the whole request fails, "Schema is too complex for compilation".
ANTHROPIC_STRICT = StrictLimits(
    null_for_optional=False,
    bounds=False,
    recursion=False,
    request={"strict tools": 20, "optional properties": 24, "properties of several types": 16},
)


class FormatSpec(msgspec.Struct, frozen=True):
    """How a provider takes tools.

    Attributes:
        schema_path: The keys that lead to the schema in the tool. Of several, the first is that of an object around the
            name, the description and the rest.
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
        typed: Whether a tool says that it is a function.
        strict_by_default: Whether a tool must say that it is not strict.
        annotated: Whether a tool has the record's title and hints.
    """

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
    typed: bool = False
    strict_by_default: bool = False
    annotated: bool = False

    def tool(self, named: Mapping[str, str], schema: Schema, is_strict: bool) -> dict[str, Any]:
        """Return a tool of its name and description, and of its schema, which `is_strict` says to follow strictly."""
        path, made = self.schema_path, schema
        for key in reversed(path[1:] or path):
            made = {key: made}
        # Gemini refuses an object without properties: a function without parameters has none.
        made = dict(named) if self.openapi_subset and not schema.get("properties") else {**named, **made}
        if is_strict or self.strict_by_default:
            made["strict"] = is_strict
        made = {path[0]: made} if path[1:] else made
        return {"type": "function", **made} if self.typed else made


FormName = Literal["openai", "responses", "anthropic", "mcp", "langchain", "gemini", "bedrock"]


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
            ("function", "parameters"), 64, typed=True, cap=128, portable_patterns=True, strict_limits=OPENAI_STRICT
        ),
    )
    # OpenAI's Responses API.
    RESPONSES = (
        "responses",
        FormatSpec(
            ("parameters",),
            64,
            typed=True,
            strict_by_default=True,
            deferrable=True,
            cap=128,
            portable_patterns=True,
            strict_limits=OPENAI_STRICT,
        ),
    )
    ANTHROPIC = (
        "anthropic",
        FormatSpec(("input_schema",), 128, plain_parameters=True, strict_limits=ANTHROPIC_STRICT, deferrable=True),
    )
    MCP = "mcp", FormatSpec(("inputSchema",), 128, marks="_.-", combined_root=True, annotated=True)
    LANGCHAIN = "langchain", FormatSpec(("parameters",), 64, portable_patterns=True, strict_limits=OPENAI_STRICT)
    # Function declarations of Gemini and Vertex: `types.Tool(function_declarations=rendered.tools)`.
    GEMINI = "gemini", FormatSpec(("parameters",), 64, openapi_subset=True, first_letter=True)
    # Amazon Bedrock's Converse: `toolConfig={"tools": rendered.tools}`.
    BEDROCK = "bedrock", FormatSpec(("toolSpec", "inputSchema", "json"), 64, plain_parameters=True)


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
