"""OpenAI Agents SDK: the tools of an answer as FunctionTools.

Needs the extra `agents`.

    >>> agent = base.clone(tools=[*base.tools, *function_tools(router.route(request), call)])
    >>> Runner.run_sync(agent, request).final_output
"""

import inspect
import json
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from router.adapters.calling import Call, as_text
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats import Form, Rendered


def function_tools(routed: RoutedTools, call: Call, *, strict: bool = False) -> list[FunctionTool]:
    """The tools of an answer, each called by `call`, in the order of the answer.

    `strict` asks for strict mode where a tool's schema has a strict form. Arguments that are no JSON object are
    told to the model, which may try again; what `call` raises ends the run.
    """
    rendered = routed.render(Form.RESPONSES, strict=strict)
    return [_tool(tool, rendered, call) for tool in rendered.tools]


def _tool(tool: dict[str, Any], rendered: Rendered, call: Call) -> FunctionTool:
    tool_id = rendered.tool_id(tool["name"])

    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            given = rendered.arguments(tool["name"], _object(arguments))
        except RequestInvalid as error:
            return str(error)
        answer = call(tool_id, given)
        return as_text(await answer if inspect.isawaitable(answer) else answer)

    return FunctionTool(
        name=tool["name"],
        description=tool.get("description", ""),
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=tool["strict"],
    )


def _object(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except ValueError as error:
        raise RequestInvalid(f"the arguments are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise RequestInvalid(f"the arguments are {arguments[:80]}, they must be a JSON object")
    return given
