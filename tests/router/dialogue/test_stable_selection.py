"""One selection over a dialogue: the provider's prompt begins as at the turn before."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Router
from router.answer.results import RoutedTool, RoutedTools
from router.dialogue.stable_selection import StableSelection
from router.dialogue.turn import Turn
from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats.formats import ProviderFormat, VendorText
from router.provider_formats.rendering import render
from router.record import ToolRecord
from router.selection.settings import Selection
from tests.support.factories import make_record

IDS = tuple(f"acme/{letter}" for letter in "abcdefgh")


class _Scripted:
    """A router that answers each request, a list of letters, with their tools; a catalog that may change."""

    selection = Selection()
    vendor_text = VendorText.TRUSTED

    def __init__(self, always: str = "") -> None:
        self.catalog = {
            tool_id: make_record(tool_id[-1], "acme", description=f"Does {tool_id[-1]}.") for tool_id in IDS
        }
        self.always = always
        self.options: dict[str, Any] = {}

    def route(self, request: Any, **options: Any) -> RoutedTools:
        self.options = options
        found = tuple(RoutedTool(tool_id, self.catalog[tool_id], 1.0) for tool_id in self.ids(request))
        every = tuple(RoutedTool(tool_id, self.catalog[tool_id], 0.0) for tool_id in self.ids(self.always))
        return RoutedTools(found[: options["k"]], "one", "default", always=every, needs=tuple(options["needs"] or ()))

    def record(self, tool_id: str) -> ToolRecord | None:
        return self.catalog.get(tool_id)

    def tokens(self, tool_id: str) -> None:
        """Return None: the tool was not counted."""

    def ids(self, letters: str) -> list[str]:
        return [f"acme/{letter}" for letter in letters if f"acme/{letter}" in self.catalog]


Scripted: Any = _Scripted  # in the place of a Router


def letters(ids: Sequence[str]) -> str:
    return "".join(tool_id[-1] for tool_id in ids)


def test_earlier_tools_keep_their_place_and_what_is_useful_no_more_goes_when_there_is_no_room() -> None:
    stable = StableSelection(Scripted(), k=2, capacity=4, keep_within=4)
    assert letters(stable.select("ab").ids) == "ab"
    turn = stable.select("cb")
    assert letters(turn.ids) == "abc" and letters(turn.added) == "c" and not turn.evicted
    stable.select("d")
    turn = stable.select("efcb")
    assert letters(turn.ids) == "bcef" and letters(turn.evicted) == "ad"


def test_a_tool_that_was_called_stays_for_some_turns() -> None:
    stable = StableSelection(Scripted(), k=2, capacity=4, keep_called=2)
    stable.select("ab")
    stable.called("acme/a")
    stable.select("cd")
    assert letters(stable.select("ef").ids) == "aef"
    assert letters(stable.select("gh").evicted) == "aef"
    with pytest.raises(RequestInvalid, match="'acme/a' is not among the 2 of this dialogue"):
        stable.called("acme/a")


def test_tokens_are_those_of_the_tools_as_they_are_handed_over() -> None:
    scripted = Scripted()
    stable = StableSelection(scripted, k=2, count=len)
    sizes = [
        len(json.dumps(render([scripted.catalog[tool_id]], ProviderFormat.OPENAI).tools[0], separators=(",", ":")))
        for tool_id in IDS[:3]
    ]
    first, second = stable.select("ab"), stable.select("bc")
    assert (first.tokens, first.prefix_tokens) == (sum(sizes[:2]), 0)
    assert (second.tokens, second.prefix_tokens) == (sum(sizes), sum(sizes[:2]))
    assert second.render().tools[:2] == first.render().tools


def test_a_removed_tool_goes_alone_and_a_changed_one_keeps_its_place() -> None:
    scripted = Scripted()
    stable = StableSelection(scripted, k=4, count=lambda text: 1)
    stable.select("abcd")
    del scripted.catalog["acme/c"]
    scripted.catalog["acme/b"] = make_record("b", "acme", description="Does b better.")
    turn = stable.select("ad")
    assert (letters(turn.ids), letters(turn.gone), letters(turn.changed)) == ("abd", "c", "b")
    assert turn.tools[1].description == "Does b better." and turn.prefix_tokens == 1 and not turn.prefix_same
    assert stable.select("ad").prefix_same


def test_what_every_answer_has_stands_first_takes_no_ranked_place_and_must_fit() -> None:
    stable = StableSelection(Scripted(always="h"), k=2, capacity=3)
    assert letters(stable.select("ab").ids) == "hab"
    assert letters(stable.select("cd").ids) == "hcd"
    short = StableSelection(Scripted(always="h"), token_budget=5, count=lambda text: 6)
    with pytest.raises(SettingsInvalid, match="every answer, does not fit into 64 tools and 5 tokens"):
        short.select("ab")


def test_a_dialogue_goes_on_elsewhere_from_its_ids() -> None:
    first = StableSelection(Scripted(), k=2)
    first.select("dc")
    second = StableSelection(Scripted(), k=2, held=[*first.ids, "acme/gone"], count=lambda text: 1)
    turn = second.select("a")
    assert letters(turn.ids) == "dca" and turn.prefix_tokens == 2


def test_no_tool_is_held_that_the_selection_refuses_now() -> None:
    scripted = Scripted()
    selection = Selection(block=("acme/d",), annotations={"readOnlyHint": True})
    for letter in "abc":
        scripted.catalog[f"acme/{letter}"] = make_record(letter, "acme", annotations={"readOnlyHint": True})
    stable = StableSelection(scripted, k=2, held=["acme/d", "acme/e", "acme/a"], selection=selection)
    assert letters(stable.ids) == "a"
    assert letters(stable.select("b").ids) == "ab"
    scripted.catalog["acme/a"] = make_record("a", "acme", annotations={"readOnlyHint": False})
    turn = stable.select("c")
    assert (letters(turn.ids), letters(turn.gone)) == ("bc", "a")


def test_a_turn_that_finds_nothing_or_fails_keeps_what_is_held() -> None:
    stable = StableSelection(Scripted(), k=2, count=lambda text: 1)
    stable.select("ab")
    turn = stable.select("")
    assert letters(turn.ids) == "ab" and turn.prefix_tokens == 2 and not len(turn.routed)
    with pytest.raises(TypeError):
        stable.select(None)  # type: ignore[arg-type]
    with pytest.raises(SettingsInvalid, match="message_tokens is -1"):
        stable.select("c", message_tokens=-1)
    assert letters(stable.ids) == "ab"


def test_the_router_is_asked_as_deep_as_tools_count_as_useful() -> None:
    scripted = Scripted()
    given: dict[str, Any] = {"needs": ["pay"], "category": "payments", "category_confidence": 0.5}
    StableSelection(scripted, k=3, keep_within=6).select("ab", **given)
    assert given.items() <= scripted.options.items() and scripted.options["k"] == 6


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"capacity": 129}, "capacity is 129, it must be a whole number from 1 to 128"),
        ({"k": 65}, "k is 65, it must be a whole number from 1 to 64"),
        ({"cached_price": 1.5}, "cached_price is 1.5, it must be a number from 0 to 1"),
        ({"k": 0}, "k is 0"),
        ({"keep_within": 7}, "keep_within is 7, it must be a whole number from 8 up"),
        ({"keep_called": -1}, "keep_called is -1"),
        ({"token_budget": True}, "token_budget is True"),
        ({"form": "xml"}, "there is no form 'xml'"),
    ],
)
def test_a_setting_out_of_range_is_refused_with_its_range(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsInvalid, match=said):
        StableSelection(Scripted(), **settings)


@given(
    requests=st.lists(st.permutations("abcdefgh"), min_size=1, max_size=12),
    k=st.integers(1, 3),
    capacity=st.integers(3, 8),
    called=st.booleans(),
    message_tokens=st.sampled_from([0, 5, 10_000]),
)
def test_a_prompt_begins_as_before_unless_a_turn_says_what_went(
    requests: list[list[str]], k: int, capacity: int, called: bool, message_tokens: int
) -> None:
    stable = StableSelection(Scripted(), k=k, capacity=capacity, count=lambda text: 1)
    again = StableSelection(Scripted(), k=k, capacity=capacity, count=lambda text: 1)
    before: Turn | None = None
    for request in requests:
        turn = stable.select("".join(request), message_tokens=message_tokens)
        assert again.select("".join(request), message_tokens=message_tokens) == turn
        assert f"acme/{request[0]}" in turn.ids and len(turn.ids) <= capacity  # the best is never missing
        assert turn.prefix_same == (before is not None and turn.ids == before.ids)
        if before is not None and not turn.evicted:
            assert turn.ids[: len(before.ids)] == before.ids and turn.prefix_tokens == before.tokens
        if before is not None:
            kept = tuple(tool_id for tool_id in before.ids if tool_id not in turn.evicted)
            assert turn.ids == (*kept, *turn.added)
        if called:
            stable.called(turn.ids[0])
            again.called(turn.ids[0])
        before = turn


def held(first: str, then: str, *, needs: Sequence[str] = (), long: int = 10_000, **settings: Any) -> str:
    """The tools after two turns, the second behind long messages; each tool has one token."""
    stable = StableSelection(Scripted(), k=3, keep_within=3, count=lambda text: 1, **settings)
    stable.select(first, message_tokens=0)
    turn = stable.select(then, needs=needs, message_tokens=long)
    assert turn.prefix_same == (letters(turn.ids) == first)
    return letters(turn.ids)


def test_behind_long_messages_no_tool_is_added_while_held_ones_likely_serve_the_request() -> None:
    assert held("abc", "abd") == held("abc", "adc") == "abc"
    assert held("abc", "abd", long=0) == "abcd"  # no messages are read again
    assert held("abc", "abd", cached_price=0.5) == "abcd"  # reading them again costs less


def test_where_the_best_tool_is_missing_all_are_added_at_once() -> None:
    assert held("abc", "dae") == held("abc", "ade") == "abcde"  # two that are missing are a greater risk than one


def test_the_first_tool_of_each_need_counts_as_the_best() -> None:
    assert held("abc", "adc", needs=["see", "pay"]) == "abcd"


def test_what_goes_anyway_makes_a_change_free_of_charge_for_the_messages() -> None:
    scripted = Scripted()
    stable = StableSelection(scripted, k=3, count=lambda text: 1)
    stable.select("abc")
    del scripted.catalog["acme/b"]
    assert letters(stable.select("acd", message_tokens=10_000).ids) == "acd"


def test_further_tools_come_along_for_a_tenth_of_the_messages_tokens_where_there_is_room() -> None:
    def first(**settings: Any) -> str:
        stable = StableSelection(Scripted(), k=2, count=lambda text: 1, **settings)
        return letters(stable.select("abcdefgh", message_tokens=39).added)

    assert first() == "abcd" and first(keep_within=8) == "abcde"
    assert first(keep_within=8, capacity=4) == first(keep_within=8, token_budget=4) == "abcd"
    assert letters(StableSelection(Scripted(), k=2, count=lambda text: 1).select("abcd").ids) == "ab"  # no messages


def test_the_messages_of_a_request_are_estimated_by_their_length() -> None:
    request = [{"role": "user", "content": "ab"}, {"role": "tool", "content": "x" * 40_000}]

    class Texts(_Scripted):
        def route(self, request: Any, **options: Any) -> RoutedTools:
            return super().route(request[0]["content"], **options)

    texts: Any = Texts()
    stable = StableSelection(texts, k=2, keep_within=2, count=lambda text: 1)
    stable.select(request)
    request[0]["content"] = "ac"
    assert stable.select(request).prefix_same
    assert letters(stable.select(request, message_tokens=0).added) == "c"


def test_a_real_router_answers_turn_by_turn(router: Router) -> None:
    stable = StableSelection(router, k=2, capacity=4)
    first = stable.select("give the customer their money back")
    second = stable.select("file a ticket for the team")
    assert first.routed[0].tool_id == "stripe/create_refund" and "linear/create_issue" in second.ids
    assert second.ids[: len(first.ids)] == first.ids and second.prefix_tokens == first.tokens
