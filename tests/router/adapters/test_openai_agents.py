"""A real agent of the OpenAI Agents SDK, whose model is a server on loopback."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra agents is not installed")

from agents import Agent, FunctionTool, Runner, set_default_openai_api, set_tracing_disabled

from router import RequestInvalid, RoutedTool, RoutedTools, Router, ToolRecord
from router.adapters.openai_agents import function_tools
from tests.pipeline.enrichment.model_server import ModelServer, Reply
from tests.router.adapters.agent_model import call_the_first_tool, calling


@pytest.fixture(autouse=True)
def chat_completions() -> None:
    """The server speaks no Responses API, and hears no traces."""
    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)


def answered(router: Router, request: str, call: Any, **options: Any) -> Any:
    tools = function_tools(router.route(request, **options), call)
    agent = Agent(name="helper", model="gpt-5-mini", instructions="Help.", tools=tools)
    return asyncio.run(Runner.run(agent, request)).final_output


def functions(routed: RoutedTools, *, strict: bool = False) -> list[FunctionTool]:
    tools = [tool for tool in function_tools(routed, print, strict=strict) if isinstance(tool, FunctionTool)]
    assert len(tools) == len(routed.tools)
    return tools


def test_the_tools_of_an_answer_are_called_by_their_ids(router: Router, model: ModelServer) -> None:
    called: list[tuple[str, dict[str, Any]]] = []

    def call(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        called.append((tool_id, dict(arguments)))
        return {"rain": True}

    assert answered(router, "do I need an umbrella", call, k=3) == 'It says: {"rain":true}'
    assert called == [("weather/getForecast", {})]
    routed = router.route("do I need an umbrella", k=3)
    offered = [tool["function"]["name"] for tool in model.requests[0].body["tools"]]
    assert offered == list(routed.render("responses").names)
    assert offered[0] == "weather__getForecast"


def test_an_async_call_is_awaited(router: Router, model: ModelServer) -> None:
    async def call(tool_id: str, _: Mapping[str, Any]) -> str:
        return tool_id

    assert answered(router, "do I need an umbrella", call, k=1) == "It says: weather/getForecast"


def test_what_the_call_raises_ends_the_run(router: Router, model: ModelServer) -> None:
    def call(tool_id: str, _: Mapping[str, Any]) -> str:
        raise PermissionError(tool_id)

    with pytest.raises(Exception, match="weather/getForecast"):
        answered(router, "do I need an umbrella", call, k=1)


def test_what_the_call_refuses_is_told_to_the_model(router: Router, model: ModelServer) -> None:
    def call(tool_id: str, _: Mapping[str, Any]) -> str:
        raise RequestInvalid(f"{tool_id}: the argument 'city' is missing")

    told = "It says: weather/getForecast: the argument 'city' is missing"
    assert answered(router, "do I need an umbrella", call, k=1) == told


def test_arguments_that_are_no_object_are_told_to_the_model(router: Router, model: ModelServer) -> None:
    def script(body: Mapping[str, Any], count: int) -> Reply:
        return calling("weather__getForecast", [1]) if count == 1 else call_the_first_tool(body)  # type: ignore[arg-type]

    model.script = script
    called: list[str] = []
    said = answered(router, "do I need an umbrella", lambda tool_id, _: called.append(tool_id), k=1)
    assert "must be a JSON object" in said
    assert called == []


def test_the_nulls_that_strict_mode_asks_for_do_not_reach_the_tool(router: Router) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    forecast = ToolRecord("weather/days", "weather", "days", "The days' weather.", (), schema)
    routed = RoutedTools((RoutedTool(forecast.tool_id, forecast, 1.0),), "snapshot", "recipe")
    called: list[Mapping[str, Any]] = []
    (tool,) = function_tools(routed, lambda _, given: called.append(given), strict=True)
    assert isinstance(tool, FunctionTool)
    assert tool.strict_json_schema and tool.params_json_schema["required"] == ["city", "days"]
    invoked = tool.on_invoke_tool(None, '{"city": "Oslo", "days": null}')  # type: ignore[arg-type]
    asyncio.run(invoked)  # type: ignore[arg-type]
    assert called == [{"city": "Oslo"}]


def test_strict_is_asked_for_only_where_the_schema_has_a_strict_form(router: Router) -> None:
    routed = router.route("do I need an umbrella", k=2)
    loose, strict = functions(routed), functions(routed, strict=True)
    assert {tool.strict_json_schema for tool in loose} == {False}
    assert all(
        tool.params_json_schema.get("additionalProperties") is False for tool in strict if tool.strict_json_schema
    )
    assert any(tool.strict_json_schema for tool in strict)
