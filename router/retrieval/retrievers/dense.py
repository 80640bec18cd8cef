"""Cosine over the vectors of documents and phrases."""

import itertools
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.retrieval.retrievers.candidates import NO_FAISS_WARNING, Candidates, has_faiss
from router.retrieval.retrievers.moments import Moments
from router.retrieval.retrievers.ranking import Ranking
from router.retrieval.retrievers.retriever import Admitted, EncodedQuery
from router.retrieval.retrievers.vectors import StackedVectors, ToolVectors, Vectors
from router.retrieval.retrievers.views import VIEWS, Cosines, DenseView, blend, document_and_phrase, rounded

_logger = logging.getLogger("router")

# Candidates that are scored by all their vectors: 10 × tools^0.4, 256 at least. Recall of the exact top 50 in fp32: of
# 9,998 tools with 89,674 phrases .965 with 256, .981 with 400, .990 with 600; of 99,998 tools .924, .955 and .971, .984
# with 1,000, .991 with 2,000. A thousand are 9,000 vectors.
_FEWEST = 256
_FACTOR, _POWER = 10, 0.4
_FEW = 4  # times the candidates: so many admitted tools are all scored
_BLOCK = 4096  # tools scored at once where all of a large catalog are
# Vectors that are copied to float32 where there are no candidates, 77 MB of 384 dims. Of more each request reads the
# bytes: as fast from 90,000 vectors on (24 ms), and the copy would take four times the memory of the snapshot.
MOST_COPIED = 50_000


class DenseRetriever:
    """Cosine over the vectors of a catalog: of all tools where they are few, else of the nearest candidates.

    Products are taken row by row (`vecdot`), as fast as a matrix product on one thread: that would wake BLAS's others,
    which agents have better use for and two requests at once would wait for.

    `candidates` and `moments` come together, or neither does: then every vector is scored, from a copy in float32 where
    they are few.
    """

    needs_vector = True

    def __init__(self, vectors: Vectors, candidates: Candidates | None = None, moments: Moments | None = None) -> None:
        self._vectors = vectors
        self._candidates = candidates
        self._moments = moments
        is_copied = candidates is None and vectors.offsets[-1] <= MOST_COPIED
        self._copy = vectors.of_tools(0, len(vectors)) if is_copied else None
        self._count = candidate_count(len(vectors))

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, tools: int) -> "DenseRetriever | None":
        """Open a snapshot's vectors; return None where it has no encoder.

        Raises SnapshotInvalid where a file cannot be read or does not fit the number of tools. Logs a warning where
        there are many vectors and no index of candidates can be used.
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
        if contract.CANDIDATES not in manifest.files or not has_faiss():
            if len(rows) > MOST_COPIED:
                remedy = "" if contract.CANDIDATES in manifest.files else ", and build the catalog again"
                _logger.warning("%s: %s%s", folder, NO_FAISS_WARNING.format(vectors=len(rows)), remedy)
            return cls(vectors)
        return cls(
            vectors,
            Candidates.open(folder / contract.CANDIDATES, tools, dim),
            Moments.open(folder / contract.MOMENTS, len(VIEWS), dim),
        )

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` admitted tools nearest to the query's adapted vector, by its dense view.

        Raises ValueError for a query without a vector.
        """
        if query.adapted_vector is None:
            raise ValueError("the query has no vector: encode it for a recipe that weights the dense signal")
        return self.rank_vector(query.adapted_vector, depth, query.dense_view, admitted)

    def rank_vector(
        self, vector: NDArray[np.float32], depth: int, view: DenseView, admitted: Admitted | None = None
    ) -> Ranking:
        """Return the `depth` admitted tools nearest to a vector (dim,).

        Center and spread are those of the whole catalog.
        """
        count = max(self._count, 2 * depth)
        if self._candidates is None or self._moments is None or count >= len(self._vectors):
            scores = self.scores(vector, view)
            tools = _reaching(scores, depth) if admitted is None else admitted.ordinals
            return Ranking.of(tools, scores[tools], float(scores.mean()), float(scores.std())).cut(depth)
        tools = self._nearest(self._candidates, vector, count, admitted)
        scores = rounded(blend(*self._scored(vector, tools), view, np.float32(self._moments.lifted(vector))))
        place = VIEWS.index(view)
        center, spread = self._moments.center(place, vector), self._moments.spread(place, vector)
        return Ranking.of(tools, scores, center, spread).cut(depth)

    def with_later(self, later: ToolVectors) -> "DenseRetriever":
        """The same, and tools behind its own: always among the candidates, and not counted in center and spread where
        those come from moments."""
        if not isinstance(self._vectors, ToolVectors):
            raise TypeError("tools were added to this retriever already: add them to the snapshot's own")
        stacked = StackedVectors(self._vectors, later)
        if self._candidates is None:
            return DenseRetriever(stacked)
        own = np.arange(len(self._vectors), len(stacked))
        return DenseRetriever(stacked, self._candidates.with_always(own), self._moments)

    def _nearest(
        self, candidates: Candidates, vector: NDArray[np.float32], count: int, admitted: Admitted | None
    ) -> NDArray[np.int64]:
        """The tools to score: the nearest candidates, of those admitted; all of these where they are few."""
        if admitted is None:
            return candidates.nearest(vector, count)
        if len(admitted) <= _FEW * count:
            return admitted.ordinals
        return admitted.of(candidates.nearest(vector, int(count / admitted.share)))

    def similarities(
        self, vector: NDArray[np.float32], tools: NDArray[np.int64], view: DenseView
    ) -> NDArray[np.float64]:
        """The cosines of some tools, shape (len(tools),); of one without phrases that with its document."""
        return rounded(blend(*self._scored(vector, tools), view, np.float32(0)))

    def mean_cosines(self, vector: NDArray[np.float32], tools: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean cosine with all texts of each of some tools, document and phrases, shape (len(tools),)."""
        cosines, offsets = self._cosines(vector, tools)
        means: NDArray[np.float64] = np.add.reduceat(cosines.astype(np.float64), offsets[:-1]) / np.diff(offsets)
        return means

    def scores(self, vector: NDArray[np.float32], view: DenseView) -> NDArray[np.float64]:
        """The score of every tool, shape (tools,)."""
        offsets = self._vectors.offsets
        if self._copy is not None:
            documents, nearest = document_and_phrase(np.vecdot(self._copy, vector), offsets)
        else:
            blocks = range(0, len(self._vectors), _BLOCK)
            found = [self._scored(vector, np.arange(b, min(b + _BLOCK, len(self._vectors)))) for b in blocks]
            documents, nearest = (np.concatenate(part) for part in zip(*found, strict=True))
        lift = 0.0 if np.isnan(nearest).all() else float(np.nanmean(nearest - documents))
        return rounded(blend(documents, nearest, view, np.float32(lift)))

    def best_phrases(self, vector: NDArray[np.float32], tools: Sequence[int]) -> list[int | None]:
        """Which of each tool's phrases, from 0, is nearest to the request; None where it has none."""
        cosines, offsets = self._cosines(vector, np.array(tools, np.int64))
        pairs = itertools.pairwise(offsets.tolist())
        return [int(np.argmax(cosines[first + 1 : last])) if last > first + 1 else None for first, last in pairs]

    def _scored(self, vector: NDArray[np.float32], tools: NDArray[np.int64]) -> Cosines:
        return document_and_phrase(*self._cosines(vector, tools))

    def _cosines(
        self, vector: NDArray[np.float32], tools: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The cosines of some tools' vectors, tool by tool, and the offsets (tools + 1,) where each begins."""
        rows, offsets = self._vectors.places(tools)
        return self._vectors.products(rows, vector), offsets


def candidate_count(tools: int) -> int:
    """How many candidates a catalog of so many tools is searched for."""
    return max(_FEWEST, int(_FACTOR * tools**_POWER))


def _reaching(scores: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """Return the tools that are among the best `depth`, with all that tie with the last of them."""
    if depth >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth])
