"""The tools of a turn keep the places of earlier turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.dialogue.turn import Placement, RenderedTool, ToolCapacity, place_tools, prompt_price
from tests.support.factories import make_record

IDS = tuple("abcdefghijklmnop")
COSTS = {tool_id: 10 * place for place, tool_id in enumerate(IDS, 1)}


def room(tools: int = 4, tokens: int | None = None) -> ToolCapacity:
    return ToolCapacity(tools, tokens, COSTS)


@pytest.mark.parametrize(
    ("held", "wanted", "useful", "bounds", "placed"),
    [
        ("ab", "cb", "", room(), Placement(("a", "b", "c"), ("c",))),
        ("abc", "d", "", room(), Placement(("a", "b", "c", "d"), ("d",))),  # nothing goes while all fits
        ("abcd", "e", "c", room(), Placement(("c", "e"), ("e",), ("a", "b", "d"))),
        ("abcd", "e", "dbca", room(), Placement(("b", "c", "d", "e"), ("e",), ("a",))),
        ("abcd", "ea", "dbca", room(), Placement(("a", "b", "d", "e"), ("e",), ("c",))),  # a wanted tool never goes
        ("abc", "d", "c", room(tokens=70), Placement(("c", "d"), ("d",), ("a", "b"))),
    ],
    ids=["new ones behind", "room", "useless", "least useful", "wanted", "tokens"],
)
def test_over_capacity_all_that_is_useless_goes_at_once_then_the_least_useful(
    held: str, wanted: str, useful: str, bounds: ToolCapacity, placed: Placement
) -> None:
    assert place_tools(held, wanted, useful, bounds) == placed


def test_the_best_are_the_first_that_fit_and_one_too_large_is_passed_over() -> None:
    assert room(tokens=60).best("dfab", 3) == ("d", "a")
    assert room(tokens=70).best("dfab", 2) == ("d", "a")
    assert room(tools=2).best("dfab", 3) == ("d", "f")


@given(
    held=st.lists(st.sampled_from(IDS), unique=True),
    ranking=st.lists(st.sampled_from(IDS), unique=True),
    useful=st.lists(st.sampled_from(IDS), unique=True),
    k=st.integers(1, 6),
    tools=st.integers(1, 10),
    tokens=st.none() | st.integers(0, 500),
)
def test_a_turn_has_its_best_moves_nothing_and_never_exceeds_its_room(
    held: list[str], ranking: list[str], useful: list[str], k: int, tools: int, tokens: int | None
) -> None:
    bounds = ToolCapacity(tools, tokens, COSTS)
    wanted = bounds.best(ranking, k)
    placed = place_tools(held, wanted, useful, bounds)
    kept = [tool_id for tool_id in held if tool_id not in placed.evicted]
    assert bounds.holds(placed.ids)
    assert placed.ids == (*kept, *placed.added)
    assert set(wanted) <= set(placed.ids) and set(placed.added) == set(wanted) - set(held)
    assert not set(placed.evicted) & set(wanted)
    assert bounds.holds([*held, *placed.added]) == (not placed.evicted)
    # One that is useful goes only after all that are useless, and only where the next would not fit.
    if set(placed.evicted) & set(useful):
        assert set(kept) <= {*wanted, *useful}
        gone = [tool_id for tool_id in useful if tool_id in placed.evicted]
        assert not bounds.holds([*placed.ids, gone[0]])
        less = useful[useful.index(gone[0]) :]
        assert set(less).intersection(held) <= {*wanted, *placed.evicted}


@pytest.mark.parametrize(
    ("before", "after", "price"),
    [
        ("", "ab", 130),  # nothing is cached
        ("ab", "ab", 13),
        ("ab", "abc", 160 - 0.9 * 30),  # the messages are read again, the first tools are not
        ("abc", "bc", 150),
        ("abc", "ab", 130 - 0.9 * 30),
    ],
)
def test_messages_are_cached_only_behind_the_same_tools(before: str, after: str, price: float) -> None:
    def tools(ids: str) -> list[RenderedTool]:
        return [RenderedTool(make_record(tool_id), tool_id, COSTS[tool_id]) for tool_id in ids]

    assert prompt_price(tools(before), tools(after), 100, 0.1) == pytest.approx(price)
