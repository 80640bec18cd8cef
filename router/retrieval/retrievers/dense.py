"""Cosine over the vectors of documents and phrases."""

import itertools
import logging
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.retrieval.retrievers.candidates import NO_FAISS_WARNING, CandidateIndex, Candidates, has_faiss
from router.retrieval.retrievers.lance_candidates import LanceCandidates, table_files
from router.retrieval.retrievers.moments import (
    VIEWS,
    CatalogMoments,
    Cosines,
    DenseView,
    blend,
    document_and_phrase,
    rounded,
)
from router.retrieval.retrievers.retriever import STEP_SHARE, Admitted, EncodedQuery, Ranking
from router.retrieval.retrievers.vectors import StackedVectors, ToolVectors, places

_logger = logging.getLogger("router")

# Number of candidates of a large catalog: _FACTOR × tools^_POWER, at least _MIN_CANDIDATES.
# See docs/decisions/large-catalogs.md.
_MIN_CANDIDATES = 256
_FACTOR, _POWER = 27, 0.26
_SCORE_ALL = 4  # times the candidates: where filters admit no more tools than these, all of them are scored
# Vectors that a request is compared with one by one: some 38 MB, two milliseconds of one core. With more, candidates
# come first.
MOST_COMPARED = 100_000


class DenseRetriever:
    """Ranks by cosine: all tools of a small catalog, the nearest candidates of a large one.

    `candidates` and `moments` are given both or neither. Without them every vector is scored.
    """

    needs_vector = True

    def __init__(
        self,
        vectors: ToolVectors | StackedVectors,
        candidates: Candidates | None = None,
        moments: CatalogMoments | None = None,
    ) -> None:
        self._vectors = vectors
        self._candidates = candidates
        self._moments = moments
        self._count = candidate_count(len(vectors))
        self._has_phrases = vectors.offsets[-1] > len(vectors)

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, tools: int) -> "DenseRetriever | None":
        """Open a snapshot's vectors; return None where it has no encoder.

        Raises SnapshotInvalid where a file cannot be read or does not fit the number of tools. In a large catalog it
        also raises where the candidates are in a table of LanceDB, which is not installed, and logs a
        warning where no index of candidates can be used.
        """
        if manifest.encoder is None:
            return None
        dim = manifest.encoder.dim
        vectors = ToolVectors.open(folder)
        rows, scales = vectors.rows, vectors.scales
        if rows.shape != (vectors.offsets[-1], dim) or scales.shape != rows.shape[:1] or len(vectors) != tools:
            raise SnapshotInvalid(
                f"{folder}: vectors of shape {rows.shape} of {len(vectors)} tools do not fit {tools} tools "
                f"of {dim} dims"
            )
        if not is_large(tools, len(rows)):
            return cls(vectors)
        moments = folder / contract.MOMENTS
        if table := table_files(manifest.files):
            lance = LanceCandidates.open(folder, table, tools, dim)
            return cls(vectors, lance, CatalogMoments.open(moments, len(VIEWS), dim))
        if contract.CANDIDATES not in manifest.files or not has_faiss():
            remedy = "" if contract.CANDIDATES in manifest.files else ", and build the catalog again"
            _logger.warning("%s: %s%s", manifest.snapshot, NO_FAISS_WARNING.format(vectors=len(rows)), remedy)
            return cls(vectors)
        return cls(
            vectors,
            CandidateIndex.open(folder / contract.CANDIDATES, tools, dim),
            CatalogMoments.open(moments, len(VIEWS), dim),
        )

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` admitted tools nearest to the query's adapted vector, by its dense view.

        Raises ValueError for a query without a vector.
        """
        if query.adapted_vector is None:
            raise ValueError("the query has no vector: encode it for a recipe that weights the dense signal")
        count = math.ceil(STEP_SHARE * self._count) if query.is_step else self._count
        ranking = self.rank_vector(query.adapted_vector, depth, query.dense_view, admitted, count)
        return replace(ranking, share_read=query.share_read)

    def rank_vector(
        self,
        vector: NDArray[np.float32],
        depth: int,
        view: DenseView,
        admitted: Admitted | None = None,
        count: int | None = None,
    ) -> Ranking:
        """Return the `depth` admitted tools nearest to a vector (dim,).

        A large catalog scores `count` candidates, as many as its size asks for where it is None, and twice `depth` at
        least. Center and spread are those of the whole catalog.
        """
        count = max(self._count if count is None else count, 2 * depth)
        if self._candidates is None or self._moments is None or count >= len(self._vectors):
            scores = self.scores(vector, view)
            tools = _reaching(scores, depth) if admitted is None else admitted.ordinals
            return Ranking.of(tools, scores[tools], *_mean_and_deviation(scores)).cut(depth)
        tools = self._nearest(self._candidates, vector, count, admitted)
        scores = rounded(blend(*self._scored(vector, tools), view, np.float32(self._moments.lifted(vector))))
        place = VIEWS.index(view)
        center, spread = self._moments.center(place, vector), self._moments.spread(place, vector)
        return Ranking.of(tools, scores, center, spread).cut(depth)

    def with_later(self, later: ToolVectors) -> "DenseRetriever":
        """Return a retriever that also has the tools of `later`, with the next ordinals.

        They are always among the candidates. Center and spread leave them out where those come from moments. Raises
        TypeError where tools were added before.
        """
        if not isinstance(self._vectors, ToolVectors):
            raise TypeError("tools were added to this retriever already: add them to the snapshot's own")
        stacked = StackedVectors(self._vectors, later)
        if self._candidates is None:
            return DenseRetriever(stacked)
        added = np.arange(len(self._vectors), len(stacked))
        return DenseRetriever(stacked, self._candidates.with_always(added), self._moments)

    def _nearest(
        self, candidates: Candidates, vector: NDArray[np.float32], count: int, admitted: Admitted | None
    ) -> NDArray[np.int64]:
        """Return the tools to score: the nearest admitted candidates, or all admitted tools where these are few."""
        if admitted is None:
            return candidates.nearest(vector, count)
        if len(admitted) <= _SCORE_ALL * count:
            return admitted.ordinals
        return admitted.of(candidates.nearest(vector, int(count / admitted.share)))

    def similarities(
        self, vector: NDArray[np.float32], tools: NDArray[np.int64], view: DenseView
    ) -> NDArray[np.float64]:
        """Return the scores of some tools in a view, shape (len(tools),); no lift for tools without phrases."""
        return rounded(blend(*self._scored(vector, tools), view, np.float32(0)))

    def mean_cosines(self, vector: NDArray[np.float32], tools: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean cosine of a vector with each tool's document and phrases, shape (len(tools),)."""
        cosines, offsets = self._cosines(vector, tools)
        means: NDArray[np.float64] = np.add.reduceat(cosines.astype(np.float64), offsets[:-1]) / np.diff(offsets)
        return means

    def scores(self, vector: NDArray[np.float32], view: DenseView) -> NDArray[np.float64]:
        """Return the score of every tool in a view, shape (tools,)."""
        if not self._has_phrases:
            return rounded(self._vectors.products(vector))
        documents, nearest = document_and_phrase(self._vectors.products(vector), self._vectors.offsets)
        lift = 0.0 if np.isnan(nearest).all() else float(np.nanmean(nearest - documents))
        return rounded(blend(documents, nearest, view, np.float32(lift)))

    def best_phrases(self, vector: NDArray[np.float32], tools: Sequence[int]) -> list[int | None]:
        """Return for each tool the index of its phrase nearest to a vector; None where it has no phrase."""
        if not self._has_phrases:
            return [None] * len(tools)
        cosines, offsets = self._cosines(vector, np.array(tools, np.int64))
        pairs = itertools.pairwise(offsets.tolist())
        return [int(np.argmax(cosines[first + 1 : last])) if last > first + 1 else None for first, last in pairs]

    def _scored(self, vector: NDArray[np.float32], tools: NDArray[np.int64]) -> Cosines:
        return document_and_phrase(*self._cosines(vector, tools))

    def _cosines(
        self, vector: NDArray[np.float32], tools: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the cosines of some tools' vectors, tool by tool, and the offsets (tools + 1,) where each begins."""
        rows, offsets = places(self._vectors.offsets, tools)
        return self._vectors.products(vector, rows), offsets


def is_large(tools: int, vectors: int) -> bool:
    """Return whether a catalog has candidates: not where all of its tools would be candidates."""
    return tools > candidate_count(tools) and vectors > MOST_COMPARED


def candidate_count(tools: int) -> int:
    """Return how many candidates are looked for in a catalog of a number of tools."""
    return max(_MIN_CANDIDATES, int(_FACTOR * tools**_POWER))


def _mean_and_deviation(scores: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the standard deviation of scores, in half of the time of numpy's methods."""
    mean = np.add.reduce(scores) / len(scores)
    deviations = scores - mean
    return float(mean), math.sqrt(np.add.reduce(deviations * deviations) / len(scores))


def _reaching(scores: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """Return the tools that are among the best `depth`, with all that tie with the last of them."""
    if depth >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth])
