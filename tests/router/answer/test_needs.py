"""Answers to requests with needs, over a snapshot of real parts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from router import RECIPES, Profile, Router, Selection
from router.contract import Signal
from router.errors import RequestInvalid
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot

REQUEST, NEEDS = "sort this out for Ann", ("undo a payment", "notify the on-call channel")
REFUND, MESSAGE = "stripe/create_refund", "slack/chat_postMessage"
RECIPE = RECIPES["lexical"]


@pytest.fixture(scope="module")
def opened(snapshot: Path) -> Snapshot:
    return Snapshot.open(snapshot)


@pytest.mark.parametrize("recipe", ["lexical", "published"])
def test_the_tools_of_each_need_are_found_by_every_recipe_and_say_which_need_they_serve(
    router: Router, recipe: str
) -> None:
    assert not {REFUND, MESSAGE} <= set(router.route(REQUEST, k=2, recipe="lexical").ids)
    routed = router.route(REQUEST, needs=[*NEEDS, " ", NEEDS[0]], k=4, recipe=RECIPES[recipe], explain=True)
    assert {REFUND, MESSAGE} <= set(routed.ids) and (routed.needs, routed.steps) == (NEEDS, ())
    served = {tool.tool_id: tool.step for tool in routed}
    assert (served[REFUND], served[MESSAGE]) == NEEDS
    for tool in routed:
        assert sum(tool.contributions.values()) + tool.gain == pytest.approx(tool.score)
    assert routed.to_json()["needs"] == list(NEEDS)


def test_needs_that_say_nothing_new_leave_the_answer_as_it_is(router: Router) -> None:
    request = "pull failed payments, file a ticket for the team"
    alone = router.route(request, explain=True)
    for needs in ([], ["", " "], [request.upper() + "."]):
        assert router.route(request, needs=needs, explain=True) == alone


def test_in_a_dialogue_needs_belong_to_the_latest_message(router: Router) -> None:
    routed = router.route(["will it rain tomorrow", REQUEST], needs=NEEDS, recipe=RECIPE, explain=True)
    served = {tool.tool_id: tool.step for tool in routed}
    assert (served[REFUND], served["weather/getForecast"]) == (NEEDS[0], "will it rain tomorrow")


def test_a_profile_limits_what_needs_find(router: Router) -> None:
    narrow = router.for_profile(Profile("payments", Selection(allow=("stripe/*",))))
    assert set(narrow.route(REQUEST, needs=NEEDS).ids) <= {"stripe/create_refund", "stripe/list_charges"}


def test_each_of_many_requests_has_its_own_needs(router: Router) -> None:
    asked = [REQUEST, "will it rain tomorrow"]
    assert router.route_many(asked, needs=[NEEDS, ()]) == [router.route(REQUEST, needs=NEEDS), router.route(asked[1])]
    with pytest.raises(RequestInvalid, match=r"^needs holds 1 list for 2 requests: give one a request$"):
        router.route_many(asked, needs=[NEEDS])
    with pytest.raises(RequestInvalid, match="needs holds 2 lists for 1 request:"):
        router.route_many([REQUEST], needs=[NEEDS, ()])
    with pytest.raises(RequestInvalid, match=r"requests\[1\]: needs holds 13 needs"):
        router.route_many(asked, needs=[(), [f"need {number}" for number in range(13)]])
    with pytest.raises(RequestInvalid, match=r"^needs is 5, it must be a list"):
        router.route_many(asked, needs=5)  # type: ignore[arg-type]
    with pytest.raises(RequestInvalid, match="it must be a sequence of texts"):
        router.route_many(iter(asked), needs=[NEEDS, ()])  # type: ignore[arg-type]
    with pytest.raises(RequestInvalid, match="it must be a list"):
        router.route(REQUEST, needs="find a person")


def test_the_best_tool_of_a_need_is_the_last_to_be_dropped_for_the_budget(router: Router) -> None:
    costs = {tool_id: router.tokens(tool_id)["openai"]["full"] for tool_id in (REFUND, MESSAGE)}  # type: ignore[index]
    needs = ["which channels are there and undo a payment", NEEDS[1]]
    routed = router.route("show every room", needs=needs, token_budget=sum(costs.values()), shorten=False)
    best = [router.route(need, k=1).ids[0] for need in needs]
    assert set(routed.ids) >= set(best)


def test_the_lists_and_the_diagnosis_of_a_request_take_its_needs(router: Router) -> None:
    with pytest.raises(RequestInvalid, match="needs is 'find a person'"):
        router.lists(REQUEST, needs="find a person")
    _, fused = router.lists(REQUEST, needs=NEEDS, recipe=replace(RECIPE, collapse=False))
    place = router.diagnose(REQUEST, REFUND, needs=NEEDS, recipe=RECIPE)
    assert place.tool.step == NEEDS[0] and router.tool_id(int(fused.ordinals[place.rank - 1])) == REFUND  # type: ignore


def calibrated(opened: Snapshot, threshold: float, lift: float = 0.0) -> Router:
    """By the expansion's list alone: a score of 1 an even chance, and `lift` more than that."""
    statistics = np.stack([np.zeros(8), np.ones(8)]).astype(np.float32)
    rule = Calibration({Signal.EXPANSION: 1.0}, lift - 1.0, threshold, 0.05, "phrases")
    background = BackgroundScores({Signal.EXPANSION: statistics})
    return Router(replace(opened, background_scores=background, calibrations=(rule,)))


def test_needs_that_no_tool_fits_are_named_and_the_request_is_refused_unless_a_tool_surely_fits_one(
    opened: Snapshot,
) -> None:
    joke, fax = "sing", "fax it"
    refused = calibrated(opened, 0.6, lift=-0.5).route(joke, needs=[fax, NEEDS[0]], recipe=RECIPE)
    assert refused.uncovered == (fax,) and refused.none_fits
    # A need is fitted nearly by some tool or other: only one that is fitted surely overrules the request.
    sure = calibrated(opened, 0.6, lift=1.0).route(joke, needs=[fax, NEEDS[0]], recipe=RECIPE)
    assert sure.fits is not None and sure.fits >= 0.9 and not sure.none_fits and sure.uncovered == (fax,)
    assert Router(replace(opened, calibrations=())).route(joke, needs=[fax]).uncovered == ()
