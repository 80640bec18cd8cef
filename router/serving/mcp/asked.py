"""What the three tools are asked: their arguments, checked, and the schemas that say so to a model."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from router.errors import RequestInvalid

_Asked = TypeVar("_Asked", bound=msgspec.Struct)
_ToolId = Annotated[str, Meta(min_length=1, description="The id that find_tools gave, such as stripe/createRefund.")]


class FindTools(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of find_tools."""

    request: Annotated[
        str, Meta(min_length=1, description="What should be done, in everyday words; several steps are welcome.")
    ]
    k: Annotated[int, Meta(ge=1, le=50, description="The most tools to return.")] = 5
    detail: Annotated[
        Literal["signature", "short", "full"],
        Meta(
            description="signature: one line for each tool; short: with a shortened JSON schema; full: with all of it."
        ),
    ] = "signature"
    token_budget: Annotated[int, Meta(ge=1, description="The most tokens that the tools may take.")] | None = None
    category: Annotated[str, Meta(description="Only tools of this category, if there are any.")] | None = None
    read_only: Annotated[bool, Meta(description="Only tools that declare that they change nothing.")] = False


class DescribeTool(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of describe_tool."""

    tool_id: _ToolId


class CallTool(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of call_tool."""

    tool_id: _ToolId
    arguments: Annotated[dict[str, Any], Meta(description="As the tool's own input schema asks.")] = {}


def read(kind: type[_Asked], arguments: Mapping[str, Any] | None) -> _Asked:
    """A call's arguments. A number or a truth value that is written as a text is taken for what it says.

    Raises RequestInvalid with the place of what is wrong.
    """
    try:
        return msgspec.convert(arguments or {}, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RequestInvalid(f"the arguments are wrong: {error}") from None


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    _, components = msgspec.json.schema_components([kind])
    (schema,) = components.values()
    return {keyword: value for keyword, value in schema.items() if keyword not in ("title", "description")}
