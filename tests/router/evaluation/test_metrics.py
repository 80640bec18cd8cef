"""Metrics, worked by hand."""

from math import log2

import numpy as np
import pytest

from router.evaluation import METRICS, MRR, NDCG, FullRecall, Success, evaluate, full_recall, recall, scores
from router.evaluation.metrics import first_rank
from tests.router.evaluation.judging import judged


def test_one_request_by_hand() -> None:
    found = evaluate([(list("xbya"), judged("ab", kind="multi"))])
    ideal = 1 + 1 / log2(3)
    assert found == {
        "recall@10": 1,
        "hit@1": 0,
        "mrr@10": 1 / 2,
        "full@10": 1,
        "multi@10": 1,
        "ndcg@10": pytest.approx((1 / log2(3) + 1 / log2(5)) / ideal),
    }


def test_full_recall_counts_required_tools_and_recall_acceptable_ones() -> None:
    found = evaluate([(list("c"), judged("ab", acceptable="abc", kind="multi"))])
    assert (found["recall@10"], found["full@10"]) == (1, 0)


def test_groups_replace_required_tools() -> None:
    found = evaluate([(list("bx"), judged("ac", acceptable="abcd", kind="multi", groups=("ab", "cd")))])
    assert found["full@10"] == 1 / 2


def test_nothing_past_the_tenth_counts() -> None:
    found = evaluate([(list("0123456789a"), judged("a"))])
    assert set(found.values()) == {0, None}


def test_recall_at_another_k_counts_to_there() -> None:
    ranking, judgement = list("xaxb"), judged("ab", kind="multi")
    assert [recall(ranking, judgement, k) for k in (1, 2, 4)] == [0, 1, 1]
    assert [full_recall(ranking, judgement, k) for k in (1, 2, 4)] == [0, 0.5, 1]
    assert first_rank(ranking, judgement) == 2 and first_rank(list("xy"), judgement) is None


def test_requests_that_no_tool_answers_count_for_no_metric() -> None:
    found = evaluate([([], judged("", kind="none")), (list("a"), judged("a"))])
    assert found["recall@10"] == 1


def test_a_metric_without_requests_is_none() -> None:
    assert evaluate([(list("a"), judged("a"))])["multi@10"] is None
    assert set(evaluate([]).values()) == {None}


def test_scores_have_a_row_a_request_and_no_number_where_there_is_no_metric() -> None:
    table = scores([(list("a"), judged("a")), (list("a"), judged("", kind="none"))])
    assert table.shape == (2, len(METRICS))
    assert np.isnan(table[1]).all() and np.isnan(table[0]).tolist() == [m.key == "multi@10" for m in METRICS]
    assert scores([]).shape == (0, len(METRICS))


def test_a_metric_prints_its_cutoff_and_has_a_key_of_its_own() -> None:
    assert [str(metric) for metric in METRICS] == [
        "Success@10", "Success@1", "MRR@10", "FullRecall@10", "MultiToolRecall@10", "nDCG@10"
    ]  # fmt: skip
    assert [metric.key for metric in METRICS] == ["recall@10", "hit@1", "mrr@10", "full@10", "multi@10", "ndcg@10"]
    assert (str(NDCG(5)), NDCG(5).key, Success(5).key) == ("nDCG@5", "ndcg@5", "recall@5")


def test_a_metric_at_another_cutoff_counts_to_there() -> None:
    ranking, judgement = list("xaxb"), judged("ab", kind="multi")
    assert [Success(k).compute(ranking, judgement) for k in (1, 2)] == [0, 1]
    assert [MRR(k).compute(ranking, judgement) for k in (1, 2)] == [0, 1 / 2]
    assert [FullRecall(k).compute(ranking, judgement) for k in (2, 4)] == [1 / 2, 1]
    assert NDCG(2).compute(ranking, judgement) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))


def test_a_request_lacks_the_metrics_that_do_not_apply_to_it() -> None:
    assert not any(metric.applies(judged("", kind="none")) for metric in METRICS)
    assert [metric.key for metric in METRICS if not metric.applies(judged("a"))] == ["multi@10"]
    assert NDCG(5).of(list("a"), judged("", kind="none")) is None
