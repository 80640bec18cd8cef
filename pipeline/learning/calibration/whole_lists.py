"""Score every tool of a catalog for many requests at once, where a router scores one request and keeps the best.

The sums are a router's, equal up to the last bits; a test compares them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import MAX_QUERY_TERMS, DenseView, Lexical, ToolVectors

Scores = NDArray[np.float64]

# Scores held at once: 130 MB, and as much again for what they are made of. More requests at a time read the vectors
# less often.
_BLOCK = 16_000_000
_TOOLS = 2_048  # whose vectors are made float32 at once: 28 MB of 8 phrases each


def dense_scores(
    vectors: ToolVectors, requests: NDArray[np.float32], view: DenseView
) -> Iterator[tuple[slice, Scores]]:
    """Yield slices of requests (n, dim) with their scores (tools, requests), as `DenseRetriever.scores` gives them."""
    step = max(_BLOCK // len(vectors), 1)
    for first in range(0, len(requests), step):
        rows = slice(first, min(first + step, len(requests)))
        yield rows, _dense(vectors, requests[rows], view)


def _dense(vectors: ToolVectors, requests: NDArray[np.float32], view: DenseView) -> Scores:
    documents = np.empty((len(vectors), len(requests)), np.float32)
    nearest = np.empty_like(documents)
    held = np.diff(vectors.offsets) > 1
    for first in range(0, len(vectors), _TOOLS):
        last = min(first + _TOOLS, len(vectors))
        cosines = vectors.of_tools(first, last) @ requests.T
        offsets = vectors.offsets[first : last + 1] - vectors.offsets[first]
        documents[first:last] = cosines[offsets[:-1]]
        if view is DenseView.DOCUMENT or not held[first:last].any():
            continue
        # Pairs of first phrase and end: every second piece lies between two tools' phrases, and is let go.
        bounds = np.stack([offsets[:-1] + 1, offsets[1:]], axis=1)[held[first:last]].ravel()
        best = np.maximum.reduceat(np.vstack([cosines, cosines[:1]]), bounds, axis=0)[::2]
        nearest[first:last][held[first:last]] = best
    if view is not DenseView.DOCUMENT:
        lift = (nearest[held] - documents[held]).mean(axis=0) if held.any() else np.float32(0)
        nearest[~held] = documents[~held] + lift
        if view is DenseView.MEAN:
            nearest += documents
            nearest /= 2
        documents = nearest
    scores: Scores = np.round(documents, 6).astype(np.float64)
    return scores


def lexical_scores(retriever: Lexical, requests: Sequence[Sequence[str]], tools: int) -> Iterator[Scores]:
    """Yield the BM25 scores (tools,) of each request, given as its terms.

    BM25 is a sum over terms: each term is looked up once, however many requests share it.
    """
    known: dict[str, tuple[NDArray[np.int64], Scores]] = {}
    for terms in requests:
        scores = np.zeros(tools)
        for term in dict.fromkeys(terms[:MAX_QUERY_TERMS]):
            if term not in known:
                ranking = retriever.rank([term], tools)
                known[term] = ranking.ordinals, ranking.scores
            ordinals, term_scores = known[term]
            scores[ordinals] += term_scores
        yield scores
