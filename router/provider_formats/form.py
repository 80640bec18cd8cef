"""The forms that tools are handed over in, how much of a tool is said, and what each provider takes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from router.errors import SettingsInvalid

Choice = TypeVar("Choice", bound=StrEnum)


class Form(StrEnum):
    """Whose tools these are to be. The order is that of the token counts in a snapshot."""

    OPENAI = "openai"  # chat completions
    RESPONSES = "responses"  # OpenAI's Responses API
    ANTHROPIC = "anthropic"
    MCP = "mcp"
    LANGCHAIN = "langchain"


class Detail(StrEnum):
    """How much of a tool is said, the most first. The order is that of the token counts in a snapshot.

    FULL is the record. SHORT keeps each name, type, enum and required parameter, and cuts what is prose: the tool can
    still be called. SIGNATURE is one line and an open schema: the model asks for the schema, or calls by the line.
    """

    FULL = "full"
    SHORT = "short"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """What a provider takes: the greatest `length` of a name and its `marks`, which may stand in it beside letters and
    digits; the most tools of one request; whether the root of a schema may be a combination (anyOf, oneOf, allOf);
    whether names of root parameters are held to `^[a-zA-Z0-9_.-]{1,64}$`."""

    length: int
    marks: str = "_-"
    cap: int | None = None
    combined_root: bool = False
    plain_parameters: bool = False


_OPENAI = ProviderLimits(length=64, cap=128)
# What is not in a provider's reference is in its errors, which name the rule:
#   OpenAI: "The name of the function to be called. Must be a-z, A-Z, 0-9, or contain underscores and dashes, with a
#     maximum length of 64"; "A max of 128 functions are supported" (API reference, chat completions);
#     "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level".
#   Anthropic: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"; "input_schema does not
#     support oneOf, allOf, or anyOf at the top level"; "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
#   MCP 2025-11-25, server/tools, Tool Names: 1 to 128 of A-Z, a-z, 0-9, underscore, hyphen and dot.
#   LangChain hands a dict on to whichever model is bound, OpenAI's the narrowest.
PROVIDER_LIMITS = {
    Form.OPENAI: _OPENAI,
    Form.RESPONSES: _OPENAI,
    Form.ANTHROPIC: ProviderLimits(length=128, plain_parameters=True),
    Form.MCP: ProviderLimits(length=128, marks="_.-", combined_root=True),
    Form.LANGCHAIN: ProviderLimits(length=64),
}


def chosen(kind: type[Choice], value: str) -> Choice:
    """The form or detail that a value names. Raises SettingsInvalid where there is none."""
    try:
        return kind(value)
    except ValueError:
        raise SettingsInvalid(f"there is no {kind.__name__.lower()} {value!r}: choose from {', '.join(kind)}") from None
