"""Tools as FunctionTools: those of an answer, or all of a router, deferred for the search that OpenAI hosts."""

from typing import Any

from agents import FunctionTool, Tool, ToolSearchTool, tool_namespace
from agents.tool_context import ToolContext

from quartermaster.adapters import Call, as_text, call_tool
from quartermaster.adapters.openai_items import hosted_tools
from quartermaster.adapters.tool_search import object_of
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats import Form, Rendered
from router.router import Router
from router.selection import Selection


def function_tools(routed: RoutedTools, call: Call, *, strict: bool = False) -> list[Tool]:
    """Return the tools of an answer in its order, each called by `call`.

    `strict` enables strict mode for tools whose schema has a strict form. The model gets the error where its arguments
    are no JSON object, and where `call` raises RequestInvalid; any other exception of `call` ends the run.
    """
    rendered = routed.render(Form.RESPONSES, strict=strict)
    return [_tool(tool, rendered, call) for tool in rendered.tools]


def hosted_function_tools(
    router: Router, call: Call, *, selection: Selection | None = None, strict: bool = False
) -> list[Tool]:
    """Return a ToolSearchTool, and all tools as deferred functions in namespaces, for the search that OpenAI hosts.

    Tools of the selection's `always` are loaded from the start. `call` and `strict` are those of `function_tools`. It
    needs OpenAI's Responses API and a model with tool search; all definitions go with each request.

    Raises:
        SettingsInvalid: No tool is left to search.
    """
    rendered = hosted_tools(router, selection, strict=strict)
    tools: list[Tool] = []
    for tool in rendered.tools:
        if tool["type"] == "tool_search":
            tools.append(ToolSearchTool())
        elif tool["type"] == "namespace":
            functions = [_tool(function, rendered, call) for function in tool["tools"]]
            tools += tool_namespace(name=tool["name"], description=tool["description"], tools=functions)
        else:
            tools.append(_tool(tool, rendered, call))
    return tools


def _tool(tool: dict[str, Any], rendered: Rendered, call: Call) -> FunctionTool:
    tool_id = rendered.tool_id(tool["name"])

    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            return as_text(await call_tool(call, tool_id, rendered.arguments(tool["name"], object_of(arguments))))
        except RequestInvalid as error:
            return str(error)

    return FunctionTool(
        name=tool["name"],
        description=tool.get("description", ""),
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=tool["strict"],
        defer_loading=tool.get("defer_loading", False),
    )
