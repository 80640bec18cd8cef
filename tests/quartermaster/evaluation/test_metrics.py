"""Metrics, worked by hand."""

from math import log2
from typing import Any

import numpy as np
import pytest

from quartermaster.evaluation import METRICS, MRR, NDCG, FullRecall, Judgement, Metric, Success, evaluate, scores
from quartermaster.evaluation.metrics import first_rank
from tests.quartermaster.evaluation.judging import judged

MULTI = judged("ab", kind="multi")
NONE = judged("", kind="none")


def test_one_request_by_hand() -> None:
    assert evaluate([(list("xbya"), MULTI)]) == {
        "recall@10": 1,
        "hit@1": 0,
        "mrr@10": 1 / 2,
        "full@10": 1,
        "multi@10": 1,
        "ndcg@10": pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))),
    }


@pytest.mark.parametrize(
    ("ranking", "judgement", "expected"),
    [
        ("c", judged("ab", acceptable="abc", kind="multi"), {"recall@10": 1, "full@10": 0}),
        ("bx", judged("ac", acceptable="abcd", kind="multi", groups=("ab", "cd")), {"full@10": 1 / 2}),
        ("0123456789a", judged("a"), dict.fromkeys(("recall@10", "hit@1", "mrr@10", "full@10", "ndcg@10"), 0)),
        ("a", judged("a"), {"recall@10": 1, "multi@10": None}),
        ("a", NONE, dict.fromkeys(("recall@10", "hit@1", "mrr@10", "full@10", "multi@10", "ndcg@10"))),
    ],
    ids=["acceptable and required", "groups", "past the tenth", "single", "no tool answers"],
)
def test_what_counts_for_which_metric(ranking: str, judgement: Judgement, expected: dict[str, Any]) -> None:
    found = evaluate([(list(ranking), judgement)])
    assert {name: found[name] for name in expected} == expected
    # A request without a metric leaves its mean to the others.
    assert evaluate([([], NONE), (list(ranking), judgement)]) == found


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Success(1), 0),
        (Success(2), 1),
        (MRR(1), 0),
        (MRR(2), 1 / 2),
        (FullRecall(2), 1 / 2),
        (FullRecall(4), 1),
        (NDCG(1), 0),
        (NDCG(2), (1 / log2(3)) / (1 + 1 / log2(3))),
    ],
    ids=str,
)
def test_a_metric_at_another_cutoff_counts_to_there(metric: Metric, expected: float) -> None:
    assert metric.compute(list("xaxb"), MULTI) == pytest.approx(expected)
    assert first_rank(list("xaxb"), MULTI) == 2 and first_rank(list("xy"), MULTI) is None
    # The best possible top k is 1, whatever else is right.
    assert NDCG(1).compute(list("a"), MULTI) == 1


def test_scores_have_a_row_a_request_and_a_column_a_metric() -> None:
    table = scores([(list("a"), judged("a")), (list("a"), NONE)])
    assert np.isnan(table[1]).all() and np.isnan(table[0]).tolist() == [m.key == "multi@10" for m in METRICS]
    assert scores([]).shape == (0, len(METRICS)) and set(evaluate([]).values()) == {None}
    assert [f"{metric} {metric.key}" for metric in (*METRICS, NDCG(5))] == [
        *("Success@10 recall@10", "Success@1 hit@1", "MRR@10 mrr@10", "FullRecall@10 full@10"),
        *("MultiToolRecall@10 multi@10", "nDCG@10 ndcg@10", "nDCG@5 ndcg@5"),
    ]
