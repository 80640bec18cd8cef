"""A request that only implies a tool: the answer has it, and says why."""

from dataclasses import replace

import pytest

from router import RECIPES, Router, Selection


def list_reports(week: str) -> str:
    """List the reports of a week."""
    return week


def find_reports(text: str) -> str:
    """Find the reports of a week that have some text."""
    return text


def count_reports(week: str) -> str:
    """Count the reports of a week."""
    return week


def compare_reports(first: str, second: str) -> str:
    """Compare the reports of a week with those of another week."""
    return first + second


def summarise_reports(week: str) -> str:
    """Summarise the reports of a week."""
    return week


def save(path: str, content: str) -> str:
    """Save content to a file."""
    return path + content


REPORTS = [list_reports, find_reports, count_reports, compare_reports, summarise_reports]
REQUEST = "show the reports of the week, put it all in week.md"


@pytest.fixture(scope="module")
def router() -> Router:
    return Router.from_tools([*REPORTS, save], encoder=None)


def test_the_tool_stands_fifth_with_the_words_that_show_the_need(router: Router) -> None:
    without = router.route(REQUEST, recipe=replace(RECIPES["default"], implicit_needs=False))
    routed = router.route(REQUEST, explain=True)
    assert "save" not in without.ids[:5] and not without.implicit_needs
    assert routed.ids == (*without.ids[:4], "save", without.ids[4])
    assert routed.implicit_needs == {"write_file": "put it all in week.md"} == routed.to_json()["implicit_needs"]
    brought = routed[4]
    assert brought.step == "put it all in week.md"
    assert brought.score == routed[5].score
    assert sum(brought.contributions.values()) + brought.gain == pytest.approx(brought.score)


def test_a_request_that_shows_no_need_has_the_same_answer_as_without(router: Router) -> None:
    request = "show the reports of the week"
    without = router.route(request, recipe=replace(RECIPES["default"], implicit_needs=False))
    routed = router.route(request)
    assert routed.ids == without.ids and not routed.implicit_needs
    assert [tool.score for tool in routed] == [tool.score for tool in without]


def test_a_catalog_without_such_a_tool_gets_nothing() -> None:
    routed = Router.from_tools(REPORTS, encoder=None).route(REQUEST)
    assert not routed.implicit_needs and len(routed) == 5


def test_a_tool_that_a_selection_leaves_out_is_not_brought(router: Router) -> None:
    routed = router.route(REQUEST, selection=Selection(block=("save",)))
    assert "save" not in routed.ids and not routed.implicit_needs


def test_needs_and_earlier_messages_are_no_steps_of_a_dialogue(router: Router) -> None:
    routed = router.route(["compare the reports of two weeks", REQUEST])
    assert routed.steps == router.route(REQUEST).steps == ("show the reports of the week", "put it all in week.md")
    assert routed.implicit_needs == {"write_file": "put it all in week.md"} and "save" in routed.ids
