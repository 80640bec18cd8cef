"""Tools for the search that OpenAI hosts: a whole catalog as deferred namespaces, accepted by a strict server."""

from typing import Any, cast

import pytest
from openai import OpenAI

from router import Router, Selection, SettingsInvalid
from router.adapters.openai_hosted import hosted_tools
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import calling, functions_of


def call_first(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the hosted search gives out: the search, what it loaded, and the call of that."""
    namespace = next(tool for tool in body["tools"] if tool["type"] == "namespace")
    search = {"id": "tsc_1", "call_id": None, "execution": "server", "status": "completed"}
    return [
        {**search, "type": "tool_search_call", "arguments": {"paths": [namespace["name"]]}},
        {**search, "type": "tool_search_output", "id": "tso_1", "tools": [namespace]},
        calling(namespace["tools"][0], namespace["name"]),
    ]


def test_the_whole_catalog_is_deferred_and_a_call_leads_back_to_its_tool(router: Router) -> None:
    hosted = hosted_tools(router)
    search, *namespaces = hosted.tools
    assert search == {"type": "tool_search"}
    functions = [function for function, _ in functions_of(list(namespaces))]
    assert {hosted.tool_id(function["name"]) for function in functions} == {record.tool_id for record in router.tools}
    assert all(function["defer_loading"] for function in functions)
    items: list[Any] = [{"role": "user", "content": "x"}]
    with ResponsesServer(call_first) as server:
        openai = OpenAI(base_url=server.base_url, api_key="sk-loopback", max_retries=0)
        response = openai.responses.create(model="gpt-5.4", tools=cast(Any, hosted.tools), input=items)
        made = cast(Any, response.output[-1])
        items += [*response.output, {"type": "function_call_output", "call_id": made.call_id, "output": "done"}]
        openai.responses.create(model="gpt-5.4", tools=cast(Any, hosted.tools), input=items)
        assert server.refused == []
    assert router.record(hosted.tool_id(made.name)) is not None and made.namespace == namespaces[0]["name"]


def test_a_selection_is_searched_and_its_tools_of_every_answer_are_loaded(router: Router) -> None:
    selection = Selection(allow=("stripe/*",), always=("weather/getForecast",))
    _, *tools = hosted_tools(router, selection).tools
    marks = {function["name"]: function.get("defer_loading", False) for function, _ in functions_of(tools)}
    assert marks.pop("weather__getForecast") is False and tools[-1]["type"] == "function"
    assert marks and all(marks.values()) and all(name.startswith("stripe__") for name in marks)


def test_nothing_to_search_is_refused_as_openai_refuses_it(router: Router) -> None:
    with pytest.raises(SettingsInvalid, match="no tool is left to search"):
        hosted_tools(router, Selection(allow=("nothing/*",), always=("weather/getForecast",)))
