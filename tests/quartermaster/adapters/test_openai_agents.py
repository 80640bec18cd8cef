"""The OpenAI Agents SDK: an answer as FunctionTools, and agents whose tools are chosen anew for each message."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra agents is not installed")

from agents import (
    Agent,
    FunctionTool,
    ModelBehaviorError,
    Runner,
    SQLiteSession,
    ToolSearchTool,
    UserError,
    set_default_openai_api,
    set_tracing_disabled,
)

from quartermaster.adapters.openai_agents import RouterServer, SearchContext, function_tools, hosted_function_tools
from router import RoutedTool, RoutedTools, Router, ToolRecord
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import calling, saying, searching

RAIN, MONEY = "do I need an umbrella", "give the customer half of the money back"
FORECAST, REFUND = "weather__getForecast", "stripe__create_refund"

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


def call(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {tool_id: dict(arguments)}


class Scripted:
    """A model that calls tools by name and JSON text, one a request, and then says what the last one gave."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def __call__(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        if self.calls:
            name, arguments = self.calls.pop(0)
            return [calling({"name": name}, arguments=arguments)]
        output = body["input"][-1].get("output", "done")
        return [saying(output if isinstance(output, str) else output[0]["text"])]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ResponsesServer]:
    set_default_openai_api("responses")
    set_tracing_disabled(True)
    with ResponsesServer(Scripted()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        yield server
        assert server.refused == []


def run(model: ResponsesServer, agent: Agent[Any], request: Any, *calls: tuple[str, str], **options: Any) -> Any:
    assert isinstance(model.script, Scripted)
    model.script.calls = [*calls]
    return asyncio.run(Runner.run(agent, request, **options))


def offered(model: ResponsesServer) -> list[list[str]]:
    return [[tool["name"] for tool in body.get("tools", [])] for body in model.bodies]


def desk(server: RouterServer, *, search: bool = False) -> Agent[Any]:
    return Agent("desk", model="gpt-5.4", mcp_servers=[server], tools=[server.search_tool] if search else [])


def test_the_next_turn_chooses_anew_behind_the_tools_of_the_one_before(router: Router, model: ResponsesServer) -> None:
    async def talk() -> None:
        session, agent = SQLiteSession("talk"), desk(RouterServer(router, call, k=1))
        for said in (RAIN, MONEY):
            await Runner.run(agent, said, session=session)

    asyncio.run(talk())
    assert offered(model) == [[FORECAST], [FORECAST, REFUND]]


def test_what_the_model_searches_is_enabled_from_its_next_call_on(router: Router, model: ResponsesServer) -> None:
    agent = desk(RouterServer(router, call, k=1), search=True)
    calls = [("search_tools", json.dumps({"request": "sort it out", "needs": [MONEY]})), (REFUND, '{"charge": "ch_1"}')]
    first = run(model, agent, RAIN, *calls, context=SearchContext())
    assert json.loads(first.final_output) == {"stripe/create_refund": {"charge": "ch_1"}}
    before, *after = offered(model)
    assert before == [FORECAST, "search_tools"]
    assert after == [[FORECAST, REFUND, "search_tools"]] * 2
    found = next(item for item in model.bodies[1]["input"] if item.get("type") == "function_call_output")
    assert found["output"] == f'{{"found":["{REFUND}"]}}'
    run(model, agent, RAIN, context=SearchContext())  # another run at the same agent has not searched
    assert offered(model)[-1] == [FORECAST, "search_tools"]
    thanks = [*first.to_input_list(), {"role": "user", "content": "thanks"}]
    run(model, agent, thanks, context=SearchContext())
    assert offered(model)[-1][:2] == [FORECAST, REFUND]


def test_a_search_without_words_is_told_to_the_model_and_one_without_a_context_ends_the_run(
    router: Router, model: ResponsesServer
) -> None:
    agent = desk(RouterServer(router, call, k=1), search=True)
    result = run(model, agent, RAIN, ("search_tools", "{}"), context=SearchContext())
    assert result.final_output == "request is None: say in words what should be done"
    with pytest.raises(UserError, match=r"pass Runner.run\(…, context=SearchContext\(\)\)"):
        run(model, agent, RAIN, ("search_tools", json.dumps({"request": MONEY})))


def test_the_runner_refuses_a_tool_search_that_the_client_executes(router: Router, model: ResponsesServer) -> None:
    """The reason for `search_tool`: when this fails, the SDK runs such searches itself."""
    model.script = lambda _: [searching({"request": MONEY})]
    schema = {"type": "object", "properties": {}}
    search = ToolSearchTool("Search.", "client", schema)
    tools = [search, *hosted_function_tools(router, call)[1:]]
    with pytest.raises(ModelBehaviorError, match="Client-executed tool_search calls are not supported"):
        asyncio.run(Runner.run(Agent("desk", model="gpt-5.4", tools=tools), RAIN))


def test_hosted_search_gets_all_tools_deferred_in_namespaces(router: Router, model: ResponsesServer) -> None:
    agent = Agent("desk", model="gpt-5.4", tools=hosted_function_tools(router, call))
    model.script = lambda body: [
        calling({"name": FORECAST}, "weather", "{}") if len(body["input"]) == 1 else saying(body["input"][-1]["output"])
    ]
    result = asyncio.run(Runner.run(agent, RAIN))
    assert json.loads(result.final_output) == {"weather/getForecast": {}}
    tools = model.bodies[0]["tools"]
    assert {"type": "tool_search"} in [{"type": tool["type"]} for tool in tools]
    spaces = {tool["name"]: tool["tools"] for tool in tools if tool["type"] == "namespace"}
    assert [*spaces] == ["github", "linear", "slack", "stripe", "weather"]
    assert all(function["defer_loading"] for functions in spaces.values() for function in functions)


def test_strict_mode_is_asked_for_where_a_schema_has_it_and_its_nulls_do_not_reach_the_tool() -> None:
    schemas: dict[str, Mapping[str, Any]] = {"days": SCHEMA, "any": {"type": "object", "properties": {"a": {}}}}
    records = [ToolRecord(f"weather/{name}", "weather", name, "", (), schema) for name, schema in schemas.items()]
    routed = RoutedTools(tuple(RoutedTool(r.tool_id, r, 1.0) for r in records), "snapshot", "recipe")
    called: list[Mapping[str, Any]] = []

    def functions(strict: bool) -> list[FunctionTool]:
        tools = function_tools(routed, lambda _, given: called.append(given), strict=strict)
        return [tool for tool in tools if isinstance(tool, FunctionTool)]

    assert [tool.strict_json_schema for tool in functions(False)] == [False, False]
    days, loose = functions(True)
    assert days.strict_json_schema and days.params_json_schema["required"] == ["city", "days"]
    assert not loose.strict_json_schema
    asyncio.run(days.on_invoke_tool(None, '{"city": "Oslo", "days": null}'))  # type: ignore[arg-type]
    assert called == [{"city": "Oslo"}]
