"""The evidence of one request's lists that some tool fits, without any statistics of the catalog. Pure functions.

A clear leader is a tool that the lists agree on and whose runner-up is far behind. Scores of different catalogs do not
compare; the share that the runner-up has of the leader's score does.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.retrieval.retrievers import DenseRetriever, Ranking

# Cues, beside those of the background queries (router/retrieval/score_normalization.py).
MEAN_COSINE = "texts"  # mean cosine of the request with all texts, document and phrases, of the nearest tools
BEST_BM25 = "matched"  # log(1 + the best BM25 score, counted in words as rare as can be)
DENSE_Z_SCORE = (
    "standing"  # by how many spreads the nearest tool stands out, beside what chance gives the best of so many
)

NEAREST = 3  # a tool that fits has neighbours that nearly fit; one alone may be near by chance
_MATCHING = (Signal.DESCRIPTION, Signal.EXPANSION)  # lists of what a tool does, not of what it is called
# The runner-up has at most half of the leader's score, and of four lists three agree. Of the answerable requests of
# twelve catalogs one in eight has such a leader, of those without a fitting tool one in fifty.
MAX_RUNNER_UP_SHARE = 0.5
MIN_AGREEING_SHARE = 0.75


def no_answer_features(
    rankings: Mapping[Signal, Ranking], dense: DenseRetriever | None, vector: NDArray[np.float32] | None, tools: int
) -> dict[str, float]:
    """Return the cues that the lists of a request among so many tools give.

    `vector` is the one that the dense list was ranked by. A cue is absent where no list gives it.
    """
    cues: dict[str, float] = {}
    matching = [rankings[signal] for signal in _MATCHING if signal in rankings]
    if matching:
        best = max(float(ranking.scores[0]) if len(ranking) else 0.0 for ranking in matching)
        cues[BEST_BM25] = scaled_bm25(best, tools)
    nearest = rankings.get(Signal.DENSE)
    if nearest is not None and len(nearest):
        cues[DENSE_Z_SCORE] = float(nearest.standard()[0]) / math.sqrt(2 * math.log(max(tools, 2)))
        if dense is not None and vector is not None:
            cues[MEAN_COSINE] = float(dense.mean_cosines(vector, nearest.ordinals[:NEAREST]).mean())
    return cues


def scaled_bm25(score: float, tools: int) -> float:
    """Return MATCHED of a BM25 score: a word that no tool has weighs more the more tools there are."""
    return math.log1p(score / math.log(1 + (tools + 0.5) / 0.5))


def has_clear_leader(
    rankings: Mapping[Signal, Ranking], fused: Ranking, duplicates: NDArray[np.int64] | None = None
) -> bool:
    """Return whether the first tool of a fused ranking leads clearly.

    It has the top score of two lists or more, and of AGREEING of those that hold any tool; and the runner-up has at
    most LEAD of its fused score. `fused` is by standard scores. `duplicates` holds for each ordinal the first ordinal
    of its duplicates, which are no runners-up.
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
    """Return whether a tool has the list's best score: of equal ones the list itself names the first id."""
    place = ranking.rank_of(ordinal)
    return place is not None and bool(ranking.scores[place - 1] >= ranking.scores[0])
