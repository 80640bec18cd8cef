"""Judged requests and how well rankings answer them: pure functions over tool ids. K = 10.

`router.evaluation` puts the requests to a router; what is here needs none.
"""

from router.evaluation.judgements import Judgement, judgements_of, read_judgements
from router.evaluation.metrics import METRICS, K, evaluate, full_recall, hit, ndcg, recall, reciprocal_rank, scores
from router.evaluation.resampling import Difference, differences, intervals

__all__ = [
    "METRICS",
    "Difference",
    "Judgement",
    "K",
    "differences",
    "evaluate",
    "full_recall",
    "hit",
    "intervals",
    "judgements_of",
    "ndcg",
    "read_judgements",
    "recall",
    "reciprocal_rank",
    "scores",
]
