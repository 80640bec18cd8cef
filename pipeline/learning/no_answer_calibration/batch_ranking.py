"""Rank many requests against a snapshot at once: every tool is scored, where a router scores one request and keeps the
best. The sums are a router's, equal up to the last bits; a test compares them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat

import numpy as np
from numpy.typing import NDArray

from pipeline.memo import Memo, digest
from router import contract
from router.contract import Signal
from router.encoding.encoder import Encoder, apply_adapter
from router.retrieval.arrays import load_array
from router.retrieval.no_answer_calibration import no_answer_features
from router.retrieval.retrievers import (
    MAX_QUERY_TERMS,
    DenseView,
    EncodedQuery,
    Lexical,
    Ranking,
    ToolVectors,
    blend,
    document_and_phrase,
    rounded,
)
from router.search.search import clean_request, forms_of
from router.snapshot.snapshot import Snapshot
from router.text import terms, terms_by_language

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


def lexical_scores(retriever: Lexical, requests: Sequence[str], tools: int) -> Iterator[Scores]:
    """Yield the BM25 scores (tools,) of each clean request.

    BM25 is a sum over words: each word is looked up once, however many requests share it.
    """
    known: dict[tuple[tuple[str, str], ...], tuple[NDArray[np.int64], Scores]] = {}
    for request in requests:
        scores = np.zeros(tools)
        for word in islice(terms_by_language(request, retriever.languages), MAX_QUERY_TERMS):
            if (key := tuple(word.items())) not in known:
                ranking = retriever.rank_by_language([word], tools)
                known[key] = ranking.ordinals, ranking.scores
            ordinals, word_scores = known[key]
            scores[ordinals] += word_scores
        yield scores


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A request's rankings by signal, its terms, its vector, and the evidence that the rankings give by themselves.

    `vector` (dim,) is the one that the dense list was ranked by; None without an encoder. `evidence` is that of
    `router.retrieval.no_answer_calibration`.
    """

    rankings: Mapping[Signal, Ranking]
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    evidence: Mapping[str, float]


# Called with the rows of the requests, their vectors (requests, dim), and every tool's dense scores for them (tools,
# requests), which it may change in place.
ScoreHook = Callable[[slice, NDArray[np.float32], Scores], None]


class BatchRanker:
    """Ranks many requests at once by a snapshot's own recipe, with every signal that the snapshot has.

    1,400 requests one by one, each for its whole lists, take a minute among 10,000 tools; together, a few seconds.
    """

    def __init__(self, snapshot: Snapshot, memo: Memo | None = None) -> None:
        """`memo` has the vectors of requests that earlier builds encoded."""
        self.snapshot = snapshot
        self._memo = memo or Memo()

    def rank(
        self, requests: Sequence[str], vectors: NDArray[np.float32] | None = None, on_scores: ScoreHook | None = None
    ) -> list[RankedQuery]:
        """Rank each request, as deep as the recipe does.

        `vectors` are their `query_vectors`, where these are known. `on_scores` may change the dense scores before the
        lists are made of them.
        """
        depth = min(self.snapshot.recipe.depth, len(self.snapshot.records))
        queries = [
            EncodedQuery(text, terms(text), forms=forms_of(self.snapshot, text))
            for text in map(clean_request, requests)
        ]
        lists = [
            {signal: retriever.rank(query, depth) for signal, retriever in self.snapshot.lexical.items()}
            for query in queries
        ]
        vectors = self.query_vectors(requests) if vectors is None else vectors
        if vectors is not None:
            for rows, scores in dense_scores(self.vectors, vectors, self.snapshot.recipe.dense_view):
                if on_scores is not None:
                    on_scores(rows, vectors[rows], scores)
                for rankings, column in zip(lists[rows], np.ascontiguousarray(scores.T), strict=True):
                    rankings[Signal.DENSE] = _best(column, depth)
        return [
            RankedQuery(rankings, query.terms, vector, self.evidence(rankings, vector))
            for rankings, query, vector in zip(
                lists, queries, repeat(None, len(lists)) if vectors is None else vectors, strict=True
            )
        ]

    def evidence(self, rankings: Mapping[Signal, Ranking], vector: NDArray[np.float32] | None) -> dict[str, float]:
        """Return the evidence of a request's rankings."""
        return no_answer_features(rankings, self.snapshot.dense, vector, len(self.snapshot.records))

    @cached_property
    def vectors(self) -> ToolVectors:
        """The stored vectors of the snapshot's tools, memory-mapped. Raises ValueError for a snapshot in memory."""
        if self.snapshot.folder is None:
            raise ValueError("a snapshot in memory has no stored vectors")
        names = (contract.VECTORS, contract.VECTOR_SCALES, contract.VECTOR_OFFSETS)
        return ToolVectors(*(load_array(self.snapshot.folder / name) for name in names))

    def query_vectors(
        self, requests: Sequence[str], vectors: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32] | None:
        """Return the vectors that the dense lists are ranked by, (requests, dim); None without dense lists.

        `vectors` are those of the requests without the adapter, where they are known.
        """
        snapshot = self.snapshot
        if snapshot.encoder is None or snapshot.dense is None:
            return None
        vectors = self._encoded(snapshot.encoder, list(map(clean_request, requests))) if vectors is None else vectors
        adapter = snapshot.adapter if snapshot.recipe.adapter else None
        return vectors if adapter is None else apply_adapter(vectors, adapter)

    def _encoded(self, encoder: Encoder, requests: Sequence[str]) -> NDArray[np.float32]:
        files = {
            name: of for name, of in self.snapshot.manifest.files.items() if name.startswith(contract.ENCODER_FOLDER)
        }
        made_by = digest(self.snapshot.manifest.encoder, files)

        def encode(places: Sequence[int]) -> list[bytes]:
            # One by one, as a router does: an int8 encoder's vectors depend on what they are batched with.
            return [encoder.encode_request(requests[place]).tobytes() for place in places]

        encoded = self._memo.results("requests", [digest(made_by, one) for one in requests], bytes, encode)
        return np.frombuffer(b"".join(encoded), np.float32).reshape(len(requests), self.vectors.dim)


def _best(scores: NDArray[np.float64], depth: int) -> Ranking:
    """Return the best of all tools, by their scores (tools,)."""
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    tools = np.flatnonzero(scores >= least)
    return Ranking.of(tools, scores[tools], float(scores.mean()), float(scores.std())).cut(depth)
