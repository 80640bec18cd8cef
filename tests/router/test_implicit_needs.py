"""A request that only implies a tool: the answer has it, and says why."""

from dataclasses import replace
from typing import Any

import pytest

from router import RECIPES, Router, Selection


def tool(name: str, description: str, *parameters: str) -> dict[str, Any]:
    """A definition whose parameters are required texts."""
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"name": name, "description": description, "parameters": schema}


REPORTS = [
    tool("list_reports", "List the reports of a week.", "week"),
    tool("find_reports", "Find the reports of a week that have some text.", "text"),
    *(tool(f"{verb}_reports", f"{verb} the reports of a week.", "week") for verb in ("count", "compare", "summarise")),
]
SAVE = tool("save", "Save content to a file.", "path", "content")
REQUEST = "show the reports of the week, put it all in week.md"
WITHOUT = replace(RECIPES["default"], implicit_needs=False)


@pytest.fixture(scope="module")
def router() -> Router:
    return Router.from_tools([*REPORTS, SAVE], encoder=None)


def test_the_tool_stands_fifth_with_the_words_that_show_the_need(router: Router) -> None:
    without, routed = router.route(REQUEST, recipe=WITHOUT), router.route(REQUEST, explain=True)
    assert "save" not in without.ids[:5] and not without.implicit_needs
    assert routed.ids == (*without.ids[:4], "save", without.ids[4])
    assert routed.implicit_needs == {"write_file": "put it all in week.md"} == routed.to_json()["implicit_needs"]
    brought = routed[4]
    assert brought.step == "put it all in week.md" and brought.score == routed[5].score
    assert sum(brought.contributions.values()) + brought.gain == pytest.approx(brought.score)


def test_without_a_need_such_a_tool_or_leave_nothing_is_brought(router: Router) -> None:
    request = "show the reports of the week"
    without, routed = router.route(request, recipe=WITHOUT), router.route(request)
    assert [(t.tool_id, t.score) for t in routed] == [(t.tool_id, t.score) for t in without]
    assert not routed.implicit_needs
    lacking = Router.from_tools(REPORTS, encoder=None).route(REQUEST)
    assert not lacking.implicit_needs and len(lacking) == 5
    blocked = router.route(REQUEST, selection=Selection(block=("save",)))
    assert "save" not in blocked.ids and not blocked.implicit_needs


def test_needs_and_earlier_messages_are_no_steps_of_a_dialogue(router: Router) -> None:
    routed = router.route(["compare the reports of two weeks", REQUEST])
    assert routed.steps == router.route(REQUEST).steps == ("show the reports of the week", "put it all in week.md")
    assert routed.implicit_needs == {"write_file": "put it all in week.md"} and "save" in routed.ids
