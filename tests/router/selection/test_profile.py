"""A profile: to its callers, the tools outside of it do not exist, whatever they ask."""

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import NothingSelected, Profile, RequestInvalid, Router, Selection, SettingsInvalid, Weights
from router.snapshot.overlay import Overlay
from router.snapshot.restriction import restrict
from router.snapshot.snapshot import Snapshot
from tests.support.factories import TOOLS

IDS = [tool["id"] for tool in TOOLS]
PROVIDERS = sorted({tool["provider"] for tool in TOOLS})
REQUESTS = ["give the customer money back", "who is on call, and tell the team", "undo a payment", "list issues", "x"]

_ids = st.lists(st.sampled_from(IDS), unique=True, max_size=5)
_globs = st.lists(st.sampled_from([*IDS, "*", "*e*", "stripe/*", "nothing/*", "nobody/knows"]), unique=True, max_size=4)
_profiles = st.builds(
    Selection,
    allow=_globs.map(tuple),
    block=_ids.map(tuple),
    providers=st.lists(st.sampled_from(PROVIDERS), max_size=3).map(tuple),
    always=st.lists(st.sampled_from(IDS), max_size=1).map(tuple),
).filter(lambda selection: not selection.admits_all)
_selections = st.builds(
    Selection,
    allow=_globs.map(tuple),
    block=_globs.map(tuple),
    always=_ids.map(tuple),
    use_category_filter=st.booleans(),
    min_lexical_overlap=st.integers(0, 1),
    weights=st.sampled_from([Weights(), Weights(name=1.0), Weights(lexical=0.5, tag=0.5)]),
)
_options = st.fixed_dictionaries(
    {"k": st.integers(1, 20), "explain": st.booleans()},
    optional={
        "selection": _selections,
        "token_budget": st.integers(1, 2_000),
        "category": st.sampled_from(["payments", "none"]),
        "form": st.sampled_from(["openai", "anthropic"]),
    },
)


@pytest.fixture(scope="module")
def other(snapshot: Path) -> Iterator[Router]:
    """A router of its own, from which a test removes tools."""
    with Router.open(snapshot) as opened:
        yield opened


def _within(selection: Selection) -> set[str]:
    """The tools of a profile, worked out without it."""

    def names(patterns: tuple[str, ...], tool: dict[str, Any]) -> bool:
        named = {tool["id"].casefold(), tool["name"].casefold()}
        return any(fnmatch(name, pattern.casefold()) for name in named for pattern in patterns)

    return {*selection.always} | {
        tool["id"]
        for tool in TOOLS
        if (not selection.allow or names(selection.allow, tool))
        and not names(selection.block, tool)
        and (not selection.providers or tool["provider"] in selection.providers)
    }


def _plain(routed: Any) -> dict[str, Any]:
    return {key: value for key, value in routed.to_json().items() if key not in ("ms", "overlay")}


@given(selection=_profiles, request=st.sampled_from(REQUESTS), options=_options)
def test_an_answer_is_that_of_a_catalog_without_the_other_tools(
    router: Router, other: Router, selection: Selection, request: str, options: dict[str, Any]
) -> None:
    within = _within(selection)
    profile = Profile("support", Selection(allow=selection.allow, block=selection.block, providers=selection.providers))
    other._live.change(lambda _: Overlay().removed(set(IDS) - _within(profile.selection)))
    view = router.for_profile(profile)
    assert _plain(view.route(request, **options)) == _plain(other.route(request, **options))
    assert {tool.tool_id for tool in view.tools} == within - (set(selection.always) - _within(profile.selection))


@given(selection=_profiles, request=st.sampled_from(REQUESTS), options=_options, asked=st.sampled_from(IDS))
def test_no_method_of_a_profiles_router_names_a_tool_outside_of_it(
    router: Router, selection: Selection, request: str, options: dict[str, Any], asked: str
) -> None:
    view, within = router.for_profile(Profile("support", selection)), _within(selection)
    outside = set(IDS) - within
    routed = view.route(request, **options)
    told = [*view.route_many([request, asked], **options), routed, view.tools, view.providers]
    # A request may name any id: what it named itself is told back in a note, whether it exists or not.
    own = options.get("selection", Selection())
    named = {*own.always, *own.allow, *own.block}
    if asked in within:
        told += [view.record(asked), view.diagnose(request, asked, **options)]
    else:
        assert (view.record(asked), view.phrases(asked), view.tokens(asked)) == (None, (), None)
        assert view.tool_id_of(asked.replace("/", "__")) is None
        with pytest.raises(RequestInvalid, match="has no tool"):
            view.diagnose(request, asked)
    assert [tool_id for tool_id in outside - named if f"'{tool_id}'" in repr(told)] == []
    assert len(view) == len(within) == view.manifest.counts["tools"]
    assert sum(view.providers.values()) == len(within)


def test_a_request_is_cut_to_the_profiles_tools_and_budget(router: Router) -> None:
    view = router.for_profile(Profile("small", Selection(), limit=2, budget=200))
    assert len(view.route("give the money back", k=8)) <= 2
    for asked, most in ((None, 200), (90, 90), (9_000, 200)):
        assert (view.route("give the money back", token_budget=asked).tokens or 0) <= most


def test_a_profiles_other_fields_hold_with_and_without_a_selection_of_the_request(router: Router) -> None:
    view = router.for_profile(Profile("p", Selection(always=(IDS[7],), fallback_to_empty=False, min_lexical_overlap=1)))
    assert [tool.tool_id for tool in view.route("list issues").always] == [IDS[7]]
    routed = view.route("list issues", selection=Selection(always=(IDS[2],)))
    assert [tool.tool_id for tool in routed.always] == [IDS[7], IDS[2]]
    with pytest.raises(NothingSelected):
        view.route("zzz", selection=Selection())


def test_thresholds_of_a_profile_hold_beside_those_of_a_request() -> None:
    own = Selection(min_combined_score=0.5, min_lexical_overlap=1, max_per_provider=2, always=("a/b",))
    asked = Selection(
        min_combined_score=0.1,
        min_lexical_overlap=3,
        max_per_provider=9,
        weights=Weights(name=1),
        always=("c/d", "a/b"),
    )
    narrowed = Profile("p", own).narrow(asked)
    assert (narrowed.min_combined_score, narrowed.min_lexical_overlap, narrowed.max_per_provider) == (0.5, 3, 2)
    assert Profile("p", own).narrow(Selection(max_per_provider=1)).max_per_provider == 1
    assert (narrowed.weights, narrowed.always) == (Weights(), ("a/b", "c/d"))
    category = Profile("p", Selection(use_category_filter=True, category_confidence_threshold=0.4))
    assert category.narrow(Selection()).category_confidence_threshold == 0.4
    both = category.narrow(Selection(use_category_filter=True, category_confidence_threshold=0.9))
    assert (both.use_category_filter, both.category_confidence_threshold) == (True, 0.4)


def test_a_profile_within_a_profile_is_within_both(router: Router) -> None:
    view = router.for_profile(Profile("a", Selection(allow=tuple(IDS[:4])), limit=2))
    narrower = view.for_profile(Profile("b", Selection(allow=tuple(IDS[2:])), limit=5))
    assert [tool.tool_id for tool in narrower.tools] == sorted(IDS[2:4])
    assert len(narrower.route("give the money back", k=5, selection=Selection(always=(IDS[0],)))) <= 2


def test_a_profiles_router_changes_nothing_and_sees_what_is_registered_later_where_it_may(snapshot: Path) -> None:
    with Router.open(snapshot) as opened:
        view = opened.for_profile(Profile("p", Selection(providers=("zoom",))))
        assert len(view) == 0
        for change in (lambda: view.remove([IDS[0]]), lambda: view.replace("a", []), view.reload):
            with pytest.raises(SettingsInvalid, match="changes nothing"):
                change()
        assert opened.overlay == view.overlay == Overlay()
        view.close()
        tools = [{"name": "meet", "description": "Start a video meeting."}]
        opened.replace("zoom", tools)
        opened.replace("bank", tools)
        assert view.route("start a video meeting").ids == ("zoom/meet",)
        assert len(opened.route("give the money back", k=1)) == 1


def pay(text: str) -> str:
    """Send a message to a channel."""
    return text


def test_functions_outside_of_a_profile_are_not_called() -> None:
    whole = Router.from_tools([pay, len], encoder=None)
    view = whole.for_profile(Profile("p", Selection(block=("pay",))))
    assert (view.call("len", {"obj": "x"}), dict(view.functions)) == (1, {"len": len})
    with pytest.raises(RequestInvalid, match="no function is behind 'pay': there are len"):
        view.call("pay", {"text": "me"})
    assert not whole.for_profile(Profile("p", call=False)).functions


def test_neither_duplicates_nor_what_a_build_held_back_is_named_outside_of_a_profile(snapshot: Path) -> None:
    tools = Router.from_tools({"slack": [pay], "teams": [pay], "irc": [pay]}, encoder=None)
    assert len(tools.route("send a message")[0].also_from) == 2
    (found,) = tools.for_profile(Profile("p", Selection(block=("slack/*",)))).route("send a message")
    assert {found.tool_id, *found.also_from} == {"teams/pay", "irc/pay"}
    whole = Snapshot.open(snapshot)
    quarantined = ({"tool_id": IDS[0], "examples": ["x"]},)
    held = replace(whole.manifest, held=(f"{IDS[0]} takes requests",), quarantined=quarantined)
    restricted = restrict(replace(whole, manifest=held), "none", lambda: np.zeros(len(whole.records), bool))
    assert IDS[0] not in repr(restricted.manifest)


@pytest.mark.parametrize("wrong", [{"name": " "}, {"limit": 0}, {"budget": True}, {"call": 1}])
def test_a_field_out_of_its_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid, match=f"{next(iter(wrong))} is"):
        Profile(**{"name": "p", **wrong})


def test_misspelled_names_are_told(router: Router, caplog: pytest.LogCaptureFixture) -> None:
    assert len(router.for_profile(Profile("spelled", Selection(allow=("strpe/refund",))))) == 0
    assert "profile 'spelled'" in caplog.text and "no tool is called 'strpe/refund'" in caplog.text
