"""Answers as a whole: steps, duplicates, and whether any tool fits, over a snapshot of real parts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from router import RECIPES, Router
from router.contract import Signal
from router.query.steps import Steps
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.retrievers import EncodedQuery, Ranking
from router.retrieval.score_normalization import BackgroundScores
from router.search.conversation import is_follow_up
from router.search.search import SearchResult, encode
from router.snapshot.snapshot import Snapshot

LEXICAL = replace(RECIPES["lexical"], steps=True, collapse=True)
EMPTY = np.array([], np.int64), np.array([], np.float64)
STEPS = "pull failed payments, file a ticket for the team and notify the on-call channel"


@pytest.fixture(scope="module")
def opened(snapshot: Path) -> Snapshot:
    return Snapshot.open(snapshot)


def test_one_answer_covers_every_step_and_a_recipe_without_them_asks_the_request_as_a_whole(opened: Snapshot) -> None:
    router = Router(opened)
    routed = router.route(STEPS, k=3, recipe=LEXICAL, explain=True)
    assert routed.steps == ("pull failed payments", "file a ticket for the team", "notify the on-call channel")
    assert set(routed.ids) == {"stripe/list_charges", "linear/create_issue", "slack/chat_postMessage"}
    assert {tool.step for tool in routed} <= set(routed.steps)
    for tool in router.route(STEPS, explain=True):
        assert sum(tool.contributions.values()) + tool.gain == pytest.approx(tool.score)
    whole = router.route(STEPS, recipe="published", explain=True)
    assert whole.steps == () and all(tool.step is None and tool.gain == 0 for tool in whole)


def test_twins_take_one_place_and_are_named_beside_the_best(opened: Snapshot) -> None:
    duplicates = np.arange(8)
    twins = [place for place in range(8) if opened.records.tool_id(place).endswith("/create_issue")]
    duplicates[twins] = twins[0]
    router = Router(replace(opened, duplicates=duplicates))
    whole = router.route("log a bug in linear", recipe=replace(LEXICAL, collapse=False)).ids
    routed = router.route("log a bug in linear", recipe=LEXICAL)
    assert {"linear/create_issue", "github/create_issue"} <= set(whole)
    assert routed.ids == tuple(tool for tool in whole if tool != "github/create_issue")
    assert routed[routed.ids.index("linear/create_issue")].also_from == ("github/create_issue",)
    found = router.diagnose("log a bug in linear", "github/create_issue", recipe=LEXICAL)
    assert found.rank == whole.index("github/create_issue") + 1 and found.tool.tool_id == "github/create_issue"


def test_more_tools_than_the_recipe_ranks_are_told_of(opened: Snapshot) -> None:
    router, shallow = Router(opened), replace(RECIPES["published"], depth=2)
    ranked = len(router.route(STEPS, recipe=shallow))
    assert 2 <= ranked < len(router)
    (note,) = router.route(STEPS, recipe=shallow, k=10**9).notes
    assert note == f"k is 1,000,000,000: the recipe published ranks {ranked} tools; a greater depth ranks more"
    assert router.route(STEPS, recipe=shallow, k=ranked).notes == () == router.route(STEPS, recipe="published").notes


def calibrated(opened: Snapshot, threshold: float) -> Router:
    """By the expansion's list alone: a score of 1 an even chance."""
    statistics = np.stack([np.zeros(8), np.ones(8)]).astype(np.float32)
    rule = Calibration({Signal.EXPANSION: 1.0}, -1.0, threshold, 0.05, "phrases")
    background = BackgroundScores({Signal.EXPANSION: statistics})
    return Router(replace(opened, background_scores=background, calibrations=(rule,)))


def test_below_the_threshold_none_fits_and_the_answer_is_what_came_closest(opened: Snapshot) -> None:
    sure = calibrated(opened, 0.5).route("pull failed payments", recipe="lexical")
    assert sure.fits is not None and sure.fits > 0.5 and not sure.none_fits
    strict = calibrated(opened, 0.999999).route("pull failed payments", recipe="lexical")
    assert strict.none_fits and strict.ids == sure.ids
    assert strict.to_json()["none_fits"] is True and strict.to_json()["fits"] == sure.fits
    untold = Router(replace(opened, background_scores=None)).route("tell me a joke")
    assert untold.fits is None and not untold.none_fits


ASKED, JOKE = "pull failed payments", "tell me a joke about clowns in Berlin tonight"


def test_a_dialogue_fits_where_the_message_that_a_tool_fits_best_does(opened: Snapshot) -> None:
    router = calibrated(opened, 0.5)
    best, alone = (router.route(text, recipe="lexical") for text in (ASKED, JOKE))
    assert alone.none_fits and alone.fits == alone.latest_fits
    for dialogue, latest in (([ASKED, JOKE], alone), ([JOKE, ASKED], best)):
        routed = router.route(dialogue, recipe="lexical")
        assert (routed.fits, routed.latest_fits, routed.none_fits) == (best.fits, latest.fits, latest is alone)
        assert ("%.2f" % (latest.fits or 0) in routed.doubt) is (latest is alone)


@pytest.mark.parametrize(
    ("dialogue", "refused"),
    [
        ([ASKED, "and the same for Bob"], False),
        ([ASKED, "play quiet jazz"], True),  # as short, and of something else
        ([ASKED, "and the same for Bob", "and for Ann"], False),
        ([ASKED, JOKE, "and the same for Bob"], True),  # it follows up the joke
        ([ASKED, "はい、お願いします"], False),  # the words of another language are not counted
        ([JOKE, "and the same for Bob"], True),
    ],
)
def test_a_message_that_no_tool_fits_is_refused_unless_it_follows_up_one_that_a_tool_fits(
    opened: Snapshot, dialogue: list[str], refused: bool
) -> None:
    router = calibrated(opened, 0.5)
    assert router.route(dialogue[-1], recipe="lexical").none_fits
    routed = router.route(dialogue, recipe="lexical")
    assert routed.none_fits is refused and (routed.latest_fits == routed.fits or refused)


def test_a_message_that_moves_what_a_dialogue_is_about_is_refused_by_its_vector(opened: Snapshot) -> None:
    def fused(vector: list[float]) -> SearchResult:
        query = EncodedQuery(ASKED, ("pull",), None, np.array(vector, np.float32))
        return SearchResult(query, {}, Ranking.of(*EMPTY), (), EMPTY[1], Steps(), None, Ranking.of(*EMPTY))

    (both,) = encode(opened, [f"{ASKED}\n{ASKED}"], RECIPES["published"])
    assert both.adapted_vector is not None
    near, far = fused(both.adapted_vector.tolist()), fused((-both.adapted_vector).tolist())
    assert is_follow_up(opened, near, near, RECIPES["published"])
    assert not is_follow_up(opened, near, far, RECIPES["published"])
