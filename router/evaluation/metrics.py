"""Retrieval metrics over judged requests. Pure functions; K = 10.

Definitions: "Hybrid Lexical-Semantic Retrieval for Tool Selection in Agent Systems" (2026), and binary nDCG (Järvelin
and Kekäläinen, TOIS 2002). A ranking is a sequence of tool ids, best first; requests of kind "none" have no metric.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from router.evaluation.judgements import Judgement

K = 10
METRICS = ("recall@10", "hit@1", "mrr@10", "full@10", "multi@10", "ndcg@10")


def recall(ranking: Sequence[str], judgement: Judgement, k: int = K) -> float:
    """1 where at least one acceptable tool is in the top k, else 0."""
    return float(any(tool_id in judgement.acceptable for tool_id in ranking[:k]))


def hit(ranking: Sequence[str], judgement: Judgement) -> float:
    """1 where the first tool is acceptable, else 0."""
    return float(bool(ranking) and ranking[0] in judgement.acceptable)


def reciprocal_rank(ranking: Sequence[str], judgement: Judgement) -> float:
    """1 / rank of the first acceptable tool, 0 past K."""
    rank = first_rank(ranking[:K], judgement)
    return 1 / rank if rank else 0.0


def full_recall(ranking: Sequence[str], judgement: Judgement, k: int = K) -> float:
    """The share of steps with a tool in the top k."""
    top = set(ranking[:k])
    return sum(bool(step & top) for step in judgement.steps) / len(judgement.steps)


def ndcg(ranking: Sequence[str], judgement: Judgement) -> float:
    """Discounted gain, 1 for a tool acceptable or required, over that of the best possible top K."""
    relevant = judgement.relevant
    gain = sum(1 / math.log2(rank + 1) for rank, tool_id in enumerate(ranking[:K], 1) if tool_id in relevant)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(K, len(relevant)) + 1))


def first_rank(ranking: Sequence[str], judgement: Judgement) -> int | None:
    """The rank, from 1, of the first acceptable tool; None where the ranking holds none."""
    return next((rank for rank, tool_id in enumerate(ranking, 1) if tool_id in judgement.acceptable), None)


def of_request(ranking: Sequence[str], judgement: Judgement) -> dict[str, float | None]:
    """The six metrics of one request; None for one that it does not have."""
    answerable = judgement.kind != "none"
    found = answerable and bool(judgement.acceptable)
    stepped = answerable and bool(judgement.steps)
    full = full_recall(ranking, judgement) if stepped else None
    return {
        "recall@10": recall(ranking, judgement) if found else None,
        "hit@1": hit(ranking, judgement) if found else None,
        "mrr@10": reciprocal_rank(ranking, judgement) if found else None,
        "full@10": full,
        "multi@10": full if judgement.kind == "multi" else None,
        "ndcg@10": ndcg(ranking, judgement) if answerable and judgement.relevant else None,
    }


def scores(rankings: Iterable[tuple[Sequence[str], Judgement]]) -> NDArray[np.float64]:
    """The metrics request by request: float64 of shape (requests, 6), columns as METRICS, NaN where there is none."""
    rows = [[math.nan if v is None else v for v in of_request(*pair).values()] for pair in rankings]
    return np.array(rows, np.float64).reshape(-1, len(METRICS))


def means(table: NDArray[np.float64]) -> dict[str, float | None]:
    """The mean of each column of `scores` over the requests that have it; None where no request has."""
    held = [column[~np.isnan(column)].tolist() for column in table.T]
    return {m: math.fsum(v) / len(v) if v else None for m, v in zip(METRICS, held, strict=True)}


def evaluate(rankings: Iterable[tuple[Sequence[str], Judgement]]) -> dict[str, float | None]:
    """Means of the six metrics over rankings with their judgements; None for a metric that no request has."""
    return means(scores(rankings))
