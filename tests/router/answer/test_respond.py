"""Answers as a whole: steps, duplicates, and whether any tool fits, over a snapshot of real parts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from router import RECIPES, Router
from router.contract import Signal
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot

LEXICAL = replace(RECIPES["lexical"], steps=True, collapse=True)
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


def test_a_dialogue_fits_where_the_message_that_a_tool_fits_best_does(opened: Snapshot) -> None:
    router = calibrated(opened, 0.5)
    complete, incomplete = "pull failed payments", "and the same for Bob"
    best, alone = (router.route(text, recipe="lexical") for text in (complete, incomplete))
    assert alone.none_fits
    for dialogue in ([complete, incomplete], [incomplete, complete]):
        routed = router.route(dialogue, recipe="lexical")
        assert (routed.fits, routed.none_fits) == (best.fits, False)
