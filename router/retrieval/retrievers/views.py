"""Dense scores from cosines: a tool's document and its nearest phrase, blended. Pure functions.

Each takes one query or many: arrays of shape (tools,) or (tools, queries).
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class DenseView(StrEnum):
    """Which vectors score a tool: its document's, its nearest phrase's, or the mean of the two cosines.

    A tool without phrases gets, in the last two views, its document's cosine plus the mean gain of the tools with
    phrases. Such a score can exceed 1.
    """

    DOCUMENT = "document"
    PHRASE = "phrase"
    MEAN = "mean"


VIEWS = tuple(DenseView)

# For each tool the cosine of its document and of its nearest phrase; the latter is NaN where it has no phrase.
Cosines = tuple[NDArray[np.float32], NDArray[np.float32]]


def document_and_phrase(cosines: NDArray[np.float32], offsets: NDArray[np.int64]) -> Cosines:
    """Split the cosines of tools' vectors, of shape (vectors,) or (vectors, queries).

    Tool i has cosines[offsets[i]:offsets[i+1]], its document's first.
    """
    firsts = offsets[:-1]
    documents = cosines[firsts]
    phrases = cosines.copy()
    phrases[firsts] = -np.inf  # below any phrase, so that a tool's greatest is that of its nearest phrase
    nearest: NDArray[np.float32] = np.maximum.reduceat(phrases, firsts, axis=0)
    nearest[np.diff(offsets) == 1] = np.nan
    return documents, nearest


def blend(
    documents: NDArray[np.float32],
    nearest: NDArray[np.float32],
    view: DenseView,
    lift: np.float32 | NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return each tool's score in a view from the cosines of its document and of its nearest phrase.

    `nearest` is NaN for a tool without phrases: it gets its document's cosine plus `lift`, the mean gain of the others,
    a scalar or of shape (queries,).
    """
    if view is DenseView.DOCUMENT:
        return documents
    # See docs/decisions/0008-dense-lift.md.
    scores: NDArray[np.float32] = np.where(np.isnan(nearest), documents + lift, nearest)
    if view is DenseView.MEAN:
        scores += documents
        scores /= 2
    return scores


def rounded(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Round scores to six decimals and return them as float64.

    Equal vectors can differ in the last bits by their row in a BLAS block; rounded, they tie and go by id.
    """
    return np.round(scores, 6).astype(np.float64)
