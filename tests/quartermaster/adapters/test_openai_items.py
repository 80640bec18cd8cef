"""Tools for the search that OpenAI hosts: a whole catalog as deferred namespaces."""

import pytest

from quartermaster.adapters.openai_items import hosted_tools
from router import Router, Selection, SettingsInvalid
from tests.support.providers.openai_searching_model import functions_of


def test_the_whole_catalog_is_deferred_and_a_call_leads_back_to_its_tool(router: Router) -> None:
    hosted = hosted_tools(router)
    search, *namespaces = hosted.tools
    assert search == {"type": "tool_search"}
    functions = [function for function, _ in functions_of(list(namespaces))]
    assert {hosted.tool_id(function["name"]) for function in functions} == {record.tool_id for record in router.tools}
    assert all(function["defer_loading"] for function in functions)


def test_a_selection_is_searched_and_its_tools_of_every_answer_are_loaded(router: Router) -> None:
    selection = Selection(allow=("stripe/*",), always=("weather/getForecast",))
    _, *tools = hosted_tools(router, selection).tools
    marks = {function["name"]: function.get("defer_loading", False) for function, _ in functions_of(tools)}
    assert marks.pop("weather__getForecast") is False and tools[-1]["type"] == "function"
    assert marks and all(marks.values()) and all(name.startswith("stripe__") for name in marks)


def test_nothing_to_search_is_refused_as_openai_refuses_it(router: Router) -> None:
    with pytest.raises(SettingsInvalid, match="no tool is left to search"):
        hosted_tools(router, Selection(allow=("nothing/*",), always=("weather/getForecast",)))
