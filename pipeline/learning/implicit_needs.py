"""Decide which tools of a catalog meet implicit needs: by their schemas, and by how a need's phrases score on them.

A tool's scores are compared with those of background queries on the same tool (Z-norm), so that one threshold serves
all catalogs. See docs/decisions/prerequisites.md.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, dense_scores
from pipeline.memo import Memo
from router.contract import Signal
from router.record import ToolRecord
from router.retrieval.implicit_needs import ImplicitNeedTools, NeedsInWords, needs_in_words
from router.snapshot.snapshot import Snapshot
from router.tools.implicit_needs import PHRASES, ImplicitNeed, fits_schema
from router.tools.trust.sanitization import sanitize

# z-scores. See docs/decisions/prerequisites.md.
_LEAST = 4.5
_OF_BEST = 0.75  # of the best tool's score


def find_need_tools(
    snapshot: Snapshot, records: Sequence[ToolRecord] = (), shown: Sequence[NeedsInWords] = (), memo: Memo | None = None
) -> ImplicitNeedTools:
    """Return the tools of a written snapshot that meet implicit needs.

    Without vectors or background scores, the tools' own words decide. `records` are its records, sanitized, and `shown`
    what `needs_in_words` returns of each, where they are known. `memo` is as in `BatchRanker`.
    """
    records = records or [sanitize(snapshot.records.entry(row).record)[0] for row in range(len(snapshot.records))]
    shown = shown or list(map(needs_in_words, records))
    background = snapshot.background_scores
    statistics = background.statistics.get(Signal.DENSE) if background else None
    if statistics is None or snapshot.encoder is None:
        return ImplicitNeedTools.in_words(records, shown)
    ranker = BatchRanker(snapshot, memo)
    meeting = {need: _meeting(need, records, _z_scores(need, ranker, statistics)) for need in ImplicitNeed}
    dated = (ordinal for ordinal, one in enumerate(shown) if one.requires_date)
    return ImplicitNeedTools.of(meeting, records, dated)


def _z_scores(need: ImplicitNeed, ranker: BatchRanker, statistics: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean z-score of a need's phrases on each tool, shape (tools,)."""
    vectors = ranker.query_vectors(PHRASES[need])
    assert vectors is not None, "a snapshot with an encoder has vectors"
    view = ranker.snapshot.recipe.dense_view
    total = np.sum([scores.sum(axis=1) for _, scores in dense_scores(ranker.vectors, vectors, view)], axis=0)
    mean, deviation = statistics
    scores: NDArray[np.float64] = (total / len(vectors) - mean) / deviation
    return scores


def _meeting(need: ImplicitNeed, records: Sequence[ToolRecord], scores: NDArray[np.float64]) -> dict[int, float]:
    """Return the scores of the tools that meet a need, by ordinal."""
    near = np.flatnonzero(scores >= _LEAST).tolist()
    fitting = [ordinal for ordinal in near if fits_schema(need, records[ordinal])]
    least = _OF_BEST * max((scores[ordinal] for ordinal in fitting), default=0.0)
    return {ordinal: float(scores[ordinal]) for ordinal in fitting if scores[ordinal] >= least}
