"""Features of one request's lists that show whether some tool fits. Pure functions, without statistics of the catalog.

Scores of different catalogs are not comparable, but the runner-up's share of the leader's score is.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.retrieval.retrievers import DenseRetriever, Ranking

# Names of features, as snapshots store them. `router.retrieval.score_normalization` has those of background queries.
MEAN_COSINE = "texts"  # mean cosine of the query with all texts, document and phrases, of the nearest tools
BEST_BM25 = "matched"  # log(1 + the best BM25 score, in units of the rarest possible word)
DENSE_Z_SCORE = "standing"  # the nearest tool's standard score over that expected of the best of so many by chance

NEAREST = 3  # a tool that fits has neighbours that nearly fit; one alone may be near by chance
_DESCRIBING = (Signal.DESCRIPTION, Signal.EXPANSION)  # lexical lists of what a tool does, not of its name
# One in eight answerable requests of twelve catalogs has such a leader, and one in fifty of those without a tool.
MAX_RUNNER_UP_SHARE = 0.5  # of the leader's fused score
MIN_AGREEING_SHARE = 0.75  # of the lists that hold any tool


def no_answer_features(
    rankings: Mapping[Signal, Ranking], dense: DenseRetriever | None, vector: NDArray[np.float32] | None, tools: int
) -> dict[str, float]:
    """Return the features of a request's lists in a catalog of `tools` tools; those whose list is missing are left out.

    `vector` is the one that the dense list was ranked by.
    """
    features: dict[str, float] = {}
    describing = [rankings[signal] for signal in _DESCRIBING if signal in rankings]
    if describing:
        best = max(float(ranking.scores[0]) if len(ranking) else 0.0 for ranking in describing)
        features[BEST_BM25] = scaled_bm25(best, tools)
    nearest = rankings.get(Signal.DENSE)
    if nearest is not None and len(nearest):
        features[DENSE_Z_SCORE] = float(nearest.standard()[0]) / math.sqrt(2 * math.log(max(tools, 2)))
        if dense is not None and vector is not None:
            features[MEAN_COSINE] = float(dense.mean_cosines(vector, nearest.ordinals[:NEAREST]).mean())
    return features


def scaled_bm25(score: float, tools: int) -> float:
    """Return BEST_BM25 of a BM25 score. It is divided by the weight of a word of no tool, which grows with `tools`."""
    return math.log1p(score / math.log(1 + (tools + 0.5) / 0.5))


def has_clear_leader(
    rankings: Mapping[Signal, Ranking], fused: Ranking, duplicates: NDArray[np.int64] | None = None
) -> bool:
    """Return whether the first tool of a fused ranking leads clearly.

    A clear leader has the top score of two lists or more, and of MIN_AGREEING_SHARE of the lists that hold any tool;
    the runner-up has at most MAX_RUNNER_UP_SHARE of its score in `fused`, which is fused by standard scores.
    `duplicates` holds for each ordinal the first ordinal of its duplicates, which do not count as runners-up.
    """
    if not len(fused) or fused.scores[0] <= 0:
        return False
    leader = int(fused.ordinals[0])
    lists = [ranking for ranking in rankings.values() if len(ranking)]
    agreeing = sum(_is_top(ranking, leader) for ranking in lists)
    if agreeing < max(2, MIN_AGREEING_SHARE * len(lists)):
        return False
    others = fused.ordinals != leader if duplicates is None else duplicates[fused.ordinals] != duplicates[leader]
    behind = fused.scores[others]
    return not len(behind) or bool(behind[0] <= MAX_RUNNER_UP_SHARE * fused.scores[0])


def _is_top(ranking: Ranking, ordinal: int) -> bool:
    """Return whether a tool has the list's best score, alone or tied."""
    rank = ranking.rank_of(ordinal)
    return rank is not None and bool(ranking.scores[rank - 1] >= ranking.scores[0])
