"""Filters, thresholds, budgets, forms and a second pass, over a snapshot of real parts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from msgspec.structs import replace as changed

from router import NothingSelected, RequestInvalid, Router, Selection, SettingsInvalid, Weights
from router.answer import post_processing
from router.contract import Signal
from router.provider_formats.formats import ProviderFormat
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.score_normalization import BackgroundScores
from router.selection.filtering import filter_candidates
from router.snapshot.snapshot import Snapshot
from tests.support.factories import make_record

REQUEST = "open an issue for the team and undo a payment"


@pytest.fixture(scope="module")
def opened(snapshot: Path) -> Snapshot:
    return Snapshot.open(snapshot)


@pytest.fixture(scope="module")
def router(opened: Snapshot) -> Router:
    return Router(opened)


def calibrated(opened: Snapshot, intercept: float, threshold: float, source: str | None = "phrases") -> Router:
    """Return a router that tells whether a tool fits by the scores of the expansion's list."""
    signal = Signal.EXPANSION
    rules = (Calibration({signal: 1.0}, intercept, threshold, 0.05, source),) if source else ()
    scores = BackgroundScores({signal: np.stack([np.zeros(8), np.ones(8)]).astype(np.float32)})
    return Router(replace(opened, background_scores=scores, calibrations=rules))


@pytest.fixture
def capped(opened: Snapshot, monkeypatch: pytest.MonkeyPatch) -> Router:
    """A router for which OpenAI takes three tools at most."""
    spec = ProviderFormat.OPENAI.spec
    monkeypatch.setattr(ProviderFormat.OPENAI, "spec", structs.replace(spec, cap=3))
    return Router(opened)


@pytest.mark.parametrize("recipe", ["default", "standard", "published", "lexical"])
def test_a_filtered_answer_is_the_unfiltered_one_without_what_is_left_out(router: Router, recipe: str) -> None:
    plain = replace(router.recipe(recipe), steps=False)
    whole = router.route(REQUEST, k=8, recipe=plain)
    kept = router.route(REQUEST, k=8, recipe=plain, selection=Selection(block=("linear/*",)))
    others = tuple(tool for tool in whole.ids if not tool.startswith("linear/"))
    assert set(kept.ids) == set(others)
    if recipe == "standard":  # by scores, which other tools do not move
        assert kept.ids == others
    assert router.route(REQUEST, k=3, recipe=plain).ids == whole.ids[:3]
    assert whole.dropped == () and whole.tokens is None


def test_what_an_allow_list_leaves_is_found_however_far_down_it_stands(router: Router) -> None:
    recipe = replace(router.recipe("default"), depth=1)
    assert "weather/getForecast" not in router.route("undo a payment", recipe=recipe).ids
    routed = router.route("undo a payment", recipe=recipe, selection=Selection(allow=("weather/*",)))
    assert routed.ids == ("weather/getForecast",)


def test_explain_tells_which_filter_kept_a_tool_of_the_first_k_from_being_found(router: Router) -> None:
    selection = Selection(block=("stripe/create_refund",))
    assert router.route("undo a payment", k=1, selection=selection).dropped == ()
    (out,) = router.route("undo a payment", k=1, selection=selection, explain=True).dropped
    told = "blocked by the selection (block: stripe/create_refund)"
    assert (out.tool_id, out.by, out.reason) == ("stripe/create_refund", "block", told)
    always = changed(selection, always=selection.block)
    routed = router.route("undo a payment", k=3, selection=always, explain=True)
    assert "stripe/create_refund" not in [out.tool_id for out in routed.dropped], "it is in the answer"


def test_a_filter_that_leaves_nothing_gives_an_empty_answer_or_an_error_as_the_selection_says(router: Router) -> None:
    nothing = Selection(allow=("nobody/*",))
    routed = router.route(REQUEST, selection=nothing)
    assert routed.ids == () and routed.nothing.startswith(
        "No tool of the catalog passes the filters (allow): search with"
    )
    with pytest.raises(NothingSelected, match=r"no tool of the catalog passes the filters \(allow\)"):
        router.route(REQUEST, selection=changed(nothing, fallback_to_empty=False))
    unknown = router.route(REQUEST, selection=Selection(use_category_filter=True), category="payments")
    assert unknown.ids == router.route(REQUEST).ids, "an unknown category does not filter to nothing"
    assert unknown.notes == ("the category 'payments' does not filter: no tool that the selection allows has it",)
    with pytest.raises(NothingSelected, match=r"every tool that was found is left out: \d by lexical overlap"):
        router.route(REQUEST, selection=Selection(min_lexical_overlap=50, fallback_to_empty=False))


def test_tools_below_the_lexical_overlap_are_dropped_with_the_count(router: Router) -> None:
    routed = router.route("refund a charge", k=8, selection=Selection(min_lexical_overlap=2))
    assert routed.ids == ("stripe/create_refund",)  # "Refunds a charge in full or in part": refund, a, charge
    reasons = {out.tool_id: out.reason for out in routed.dropped}
    assert reasons["stripe/list_charges"] == "tokens shared with the request: 1, required: 2"  # "a"


def test_weights_order_by_the_combined_score(router: Router) -> None:
    by_name = Selection(weights=Weights(embed=0, name=1))
    routed = router.route("please create issue things", k=8, selection=by_name)
    assert set(routed.ids[:2]) == {"linear/create_issue", "github/create_issue"}
    fused = [tool for tool in router.route("please create issue things", k=8).ids if tool not in routed.ids[:2]]
    assert list(routed.ids[2:]) == fused  # equal scores stay as they were fused


def test_a_tool_that_reaches_the_combined_score_is_kept_and_tools_without_a_provider_count_apart() -> None:
    records = [make_record(name, provider) for name, provider in (("a b", None), ("a", None), ("a", "x"), ("b", "x"))]
    selection = Selection(weights=Weights(embed=0, lexical=1), min_combined_score=0.5, max_per_provider=1)
    kept = filter_candidates(selection, "a b", None, records, lambda: None)
    assert kept.places == (0, 1, 2)
    assert [(place, by) for place, by, _ in kept.refused] == [(3, "provider")]
    kept = filter_candidates(changed(selection, min_combined_score=0.51), "a b", None, records, lambda: None)
    assert kept.places == (0,)


def test_the_cosine_of_the_combined_score_is_that_of_the_dense_list(router: Router, opened: Snapshot) -> None:
    selection = Selection(weights=Weights(embed=1), min_combined_score=0.0)
    routed = router.route("undo a payment", k=8, selection=selection)
    ranking = router.lists("undo a payment")[0][Signal.DENSE]
    best = [router.tool_id(ordinal) for ordinal in ranking.ordinals.tolist()]
    assert opened.expanded is None and list(routed.ids) == best


def test_tools_of_every_answer_take_no_ranked_place_and_pass_every_filter(router: Router, opened: Snapshot) -> None:
    selection = Selection(always=("weather/getForecast", "slack/gone"), block=("weather/*",), min_lexical_overlap=1)
    routed = router.route("undo a payment of a customer", k=1, selection=selection)
    assert len(routed) == 1 and routed.ids != ("weather/getForecast",)
    assert [tool.tool_id for tool in routed.always] == ["weather/getForecast"]
    assert routed.notes == ("always: no tool has the id 'slack/gone'",)
    names = [tool["function"]["name"] for tool in routed.render("openai").tools]
    assert names[0] == "weather__getForecast" and len(names) == 2
    selected = Router(opened, Selection(always=("weather/getForecast",))).select("undo a payment", 2)
    assert [record.tool_id for record in selected][:1] == ["weather/getForecast"] and len(selected) == 3


def test_a_budget_gives_what_fits_with_its_tokens_and_why_the_others_do_not(router: Router, opened: Snapshot) -> None:
    costs = opened.token_counts[:, 0, 0]  # in OpenAI's form, whole
    budget = int(costs.max()) + int(np.sort(costs)[0])
    routed = router.route(REQUEST, k=8, token_budget=budget, shorten=False)
    assert routed.tokens is not None and 0 < routed.tokens <= budget
    assert routed.tokens == sum(int(costs[opened.records.ordinal(tool) or 0]) for tool in routed.ids)
    assert {out.by for out in routed.dropped} == {"budget"} and "left of" in routed.dropped[0].reason
    more = router.route(REQUEST, k=8, token_budget=budget)
    assert len(more) >= len(routed) and more.tokens is not None and more.tokens <= budget
    assert router.select(REQUEST, 8, budget) == [tool.record for tool in routed]
    cost = int(costs[opened.records.ordinal("weather/getForecast") or 0])
    selection = Selection(always=("weather/getForecast",))  # comes out of the budget first
    routed = router.route("undo a payment", token_budget=cost, selection=selection)
    assert (len(routed), len(routed.always), routed.tokens) == (0, 1, cost)
    assert routed.dropped[0].reason == f"the tools in `always` take {cost} of {cost} tokens"


def test_a_made_up_name_costs_no_look_at_every_id(opened: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: object) -> None:
        raise AssertionError("every id is read")

    monkeypatch.setattr(type(opened.records), "facets", property(read))
    assert Router(opened).tool_id_of("nobody__has_this") is None
    assert Router(opened).tool_id_of("stripe__create_refund") == "stripe/create_refund"
    with pytest.raises(AssertionError, match="every id is read"):
        Router(opened).tool_id_of("tool--k5xw3qzb")


def test_no_more_tools_of_a_provider_are_handed_over_than_the_selection_allows(router: Router) -> None:
    whole = router.route(REQUEST, k=8)
    limited = router.route(REQUEST, k=8, selection=Selection(max_per_provider=1), explain=True)
    best = {tool.record.provider: tool.tool_id for tool in reversed(tuple(whole))}
    assert limited.ids == tuple(tool_id for tool_id in whole.ids if tool_id in best.values()) != whole.ids
    dropped = {(out.tool_id, out.by) for out in limited.dropped}
    assert dropped == {(tool_id, "provider") for tool_id in whole.ids if tool_id not in limited.ids}


def test_tools_of_every_answer_make_the_pool_no_larger_and_are_loaded_first(router: Router) -> None:
    found = router.route(REQUEST, k=8).ids
    for always in (found[0], found[-1], "weather/getForecast"):
        routed = router.route(REQUEST, k=8, selection=Selection(candidate_pool_size=2, always=(always,)))
        assert routed.ids == tuple(tool_id for tool_id in found if tool_id != always)[:2]
    deferred = router.route(REQUEST, k=2, selection=Selection(always=("weather/getForecast",)))
    tools = deferred.render("responses", defer_loading=True).tools
    assert [tool.get("defer_loading", False) for tool in tools] == [False, True, True]
    assert tools[0]["name"] == "weather__getForecast"


def test_a_tool_of_every_answer_that_stands_under_its_twin_keeps_its_own_score(opened: Snapshot) -> None:
    router = Router(opened)
    refund = router.record("stripe/create_refund")
    assert refund is not None
    router.register([replace(refund, tool_id="other/create_refund", provider="other")])
    selection = Selection(always=router.route("undo a payment", k=1)[0].also_from)
    (tool,) = router.route("undo a payment", selection=selection, explain=True).always
    assert tool.score > 0 and tool.score == pytest.approx(sum(tool.contributions.values()) + tool.gain)


def test_where_none_fits_the_answer_may_be_empty_and_says_what_came_closest(opened: Snapshot) -> None:
    router = calibrated(opened, -1.0, 0.999999)
    closest = router.route("pull failed payments", k=2, recipe="lexical")
    routed = router.route("pull failed payments", k=2, recipe="lexical", selection=Selection(empty_if_none_fits=True))
    assert closest.none_fits and len(closest) == 2
    assert routed.none_fits and routed.ids == ()
    assert [(out.tool_id, out.by) for out in routed.dropped] == [(tool_id, "none fits") for tool_id in closest.ids]


@pytest.mark.parametrize(
    ("source", "noted"), [("phrases", ()), ("generic", ("goes by a guess",)), (None, ("does nothing",))]
)
def test_an_empty_answer_by_a_generic_calibration_is_noted_each_time_and_warned_of_once(
    source: str | None, noted: tuple[str, ...], opened: Snapshot, caplog: pytest.LogCaptureFixture
) -> None:
    post_processing._warn.cache_clear()
    router = calibrated(opened, -1.0, 0.999999, source)
    for request in ("tell me a joke about a payment", "an issue for me"):
        routed = router.route(request, recipe="lexical", selection=Selection(empty_if_none_fits=True))
        assert routed.calibrated is (source == "phrases")
        assert all(part in note for part, note in zip(noted, routed.notes, strict=True))
    warned = [record.getMessage() for record in caplog.records if record.name == "router"]
    assert len(warned) == len(noted) and all(opened.manifest.snapshot in message for message in warned)


def test_where_filters_leave_no_tool_none_fits_for_certain(opened: Snapshot) -> None:
    router = calibrated(opened, 0.0, 0.5)
    assert 0 < (router.route(REQUEST).fits or 0) <= 1
    routed = router.route(REQUEST, selection=Selection(allow=("nobody/*",)))
    assert (routed.fits, routed.none_fits, routed.ids) == (0.0, True, ())
    json.dumps(routed.to_json(), allow_nan=False)


def test_a_provider_takes_at_most_its_cap_with_the_tools_of_every_answer_and_within_a_budget(capped: Router) -> None:
    routed = capped.route(REQUEST, k=4, form="openai", selection=Selection(always=("weather/getForecast",)))
    assert len(routed) == 2 and [out.by for out in routed.dropped] == ["cap", "cap"]
    whole = capped.route(REQUEST, k=5)
    assert len(whole) == 5, "without a form there is no cap"
    routed = capped.route(REQUEST, k=5, form="openai", token_budget=100_000)
    assert routed.ids == whole.ids[:3]
    assert [(out.tool_id, out.by) for out in routed.dropped] == [(tool_id, "cap") for tool_id in whole.ids[3:]]
    assert capped.route(REQUEST, k=2, form="openai", token_budget=100_000).dropped == ()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"form": "carrier pigeon"}, "there is no form 'carrier pigeon': choose from openai"),
        ({"detail": "tiny"}, "detail is 'tiny', it must be one of full"),
        ({"category": "x", "category_confidence": 1.1}, r"category_confidence is 1\.1, it must be a number"),
        ({"category": 3}, "category is 3, it must be a text"),
        ({"token_budget": 50.5}, r"token_budget is 50\.5, it must be a whole number"),
        ({"selection": ["x"]}, r"selection is \['x'\], it must be a table"),
        ({"recipe": "lexical", "selection": Selection(min_combined_score=0.2)}, r"set weights\.embed = 0 and another"),
        *(({"k": k}, r"k is .*, it must be a whole number from 1 up") for k in ("5", 2.5, True, None)),
    ],
    ids=str,
)
def test_an_option_out_of_its_range_is_refused(router: Router, options: dict[str, Any], says: str) -> None:
    with pytest.raises((SettingsInvalid, RequestInvalid), match=says):
        router.route(REQUEST, **options)


def test_what_is_no_selection_or_reranking_is_refused_when_the_router_is_opened(opened: Snapshot) -> None:
    wrong: dict[str, Any] = {"selection": ["stripe/*"], "rerank": print}
    with pytest.raises(SettingsInvalid, match=r"selection is .* it must be a table"):
        Router(opened, wrong["selection"])
    with pytest.raises(SettingsInvalid, match="it must be a Reranking"):
        Router(opened, rerank=wrong["rerank"])
