"""Worst requests and their reasons."""

import pytest

from quartermaster.evaluation import ask, worst
from quartermaster.evaluation.summary import misses, why
from router import Router
from tests.quartermaster.evaluation.judging import taking


def test_the_worst_come_first_with_what_was_required_and_what_was_returned(router: Router) -> None:
    undo, steps = "undo a payment", [f"choir/sing{number}" for number in range(11)]
    judgements = [
        taking("good", undo, "stripe/create_refund"),
        taking("bad", undo, "weather/getForecast"),
        taking("gone", "sing in the choir", *steps),
        taking("none", undo),
    ]
    found = worst(ask(router, judgements, "lexical"), 10)
    assert [row["id"] for row in found] == ["bad", "gone"]  # what is answered without fault is no part of it
    bad, gone = found
    assert bad["returned"][0]["tool_id"] == "stripe/create_refund" and not bad["returned"][0]["right"]
    assert bad["required"][0]["rank"] == router.explain(undo, "weather/getForecast", recipe="lexical")[1]
    assert gone["required"][0]["why"] == "not in this snapshot"
    assert (len(gone["required"]), gone["required_left_out"]) == (8, 3)
    assert len(worst(ask(router, judgements, "lexical"), 1)) == 1


def test_missed_steps_are_put_down_to_what_is_at_fault(router: Router) -> None:
    gone = [taking("gone", "undo a payment", "stripe/create_refund", "choir/sing"), taking("none", "sing")]
    assert misses(ask(router, gone)) == {"steps": 2, "fusion": 0, "retrieval": 0, "absent": 1}
    unfound = [taking("unfound", "zzz", "stripe/create_refund")]
    assert misses(ask(router, unfound, "lexical")) == {"steps": 1, "fusion": 0, "retrieval": 1, "absent": 0}


@pytest.mark.parametrize(
    ("rank", "ranks", "said"),
    [
        (None, {}, "in no list: it has no word in common with the request"),
        (1, {"name": 1}, "returned"),
        (4, {"name": 9, "dense": 2}, "returned at 4: dense ranks it 2"),
        (14, {"dense": 5, "expansion": 60, "description": 70}, "lost in fusion: dense ranks it 5, name not at all"),
        (40, {"dense": 21}, "below the first 10 of every list: dense ranks it 21"),
        (None, {"dense": 1_200}, "far down in every list: dense ranks it 1,200"),
    ],
)
def test_a_rank_is_explained_in_few_words(rank: int | None, ranks: dict[str, int], said: str) -> None:
    assert why(rank, ranks) == said
