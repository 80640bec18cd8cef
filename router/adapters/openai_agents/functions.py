"""The tools of an answer as FunctionTools."""

import inspect
from typing import Any

from agents import FunctionTool, Tool
from agents.tool_context import ToolContext

from router.adapters import Call, as_text
from router.adapters.tool_search import object_of
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats import Form, Rendered


def function_tools(routed: RoutedTools, call: Call, *, strict: bool = False) -> list[Tool]:
    """Return the tools of an answer in its order, each called by `call`.

    `strict` enables strict mode for tools whose schema has a strict form. If the arguments are not a JSON object, the
    model gets the error and may try again; an exception of `call` ends the run.
    """
    rendered = routed.render(Form.RESPONSES, strict=strict)
    return [_tool(tool, rendered, call) for tool in rendered.tools]


def _tool(tool: dict[str, Any], rendered: Rendered, call: Call) -> FunctionTool:
    tool_id = rendered.tool_id(tool["name"])

    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            tool_arguments = rendered.arguments(tool["name"], object_of(arguments))
        except RequestInvalid as error:
            return str(error)
        result = call(tool_id, tool_arguments)
        return as_text(await result if inspect.isawaitable(result) else result)

    return FunctionTool(
        name=tool["name"],
        description=tool.get("description", ""),
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=tool["strict"],
    )
