"""Score every tool of a catalog for many requests at once, where a router scores one request and keeps the best.

The sums are a router's, equal up to the last bits; a test compares them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import (
    MAX_QUERY_TERMS,
    DenseView,
    Lexical,
    ToolVectors,
    blend,
    document_and_phrase,
    rounded,
)

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
    nearest = np.full_like(documents, np.nan)
    for first in range(0, len(vectors), _TOOLS):
        last = min(first + _TOOLS, len(vectors))
        cosines = vectors.of_tools(first, last) @ requests.T
        offsets = vectors.offsets[first : last + 1] - vectors.offsets[first]
        if view is DenseView.DOCUMENT:
            documents[first:last] = cosines[offsets[:-1]]
        else:
            documents[first:last], nearest[first:last] = document_and_phrase(cosines, offsets)
    has_phrases = np.diff(vectors.offsets) > 1
    lift = np.float32(0)
    if view is not DenseView.DOCUMENT and has_phrases.any():
        lift = (nearest[has_phrases] - documents[has_phrases]).mean(axis=0)
    return rounded(blend(documents, nearest, view, lift))


def lexical_scores(retriever: Lexical, requests: Sequence[Sequence[str]], tools: int) -> Iterator[Scores]:
    """Yield the BM25 scores (tools,) of each request, given as its terms.

    BM25 is a sum over terms: each term is looked up once, however many requests share it.
    """
    known: dict[str, tuple[NDArray[np.int64], Scores]] = {}
    for terms in requests:
        scores = np.zeros(tools)
        for term in dict.fromkeys(terms[:MAX_QUERY_TERMS]):
            if term not in known:
                ranking = retriever.rank_terms([term], tools)
                known[term] = ranking.ordinals, ranking.scores
            ordinals, term_scores = known[term]
            scores[ordinals] += term_scores
        yield scores
