"""Cosine over the vectors of documents and phrases."""

import itertools
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers.admitted import Admitted
from router.retrieval.retrievers.candidates import Candidates
from router.retrieval.retrievers.moments import Moments
from router.retrieval.retrievers.ranking import Ranking
from router.retrieval.retrievers.vectors import StackedVectors, ToolVectors, Vectors

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


class DenseView(StrEnum):
    """Which vectors score a tool: its document's, its best phrase's, or the mean of the two cosines.

    The last two take, for a tool without phrases, its document's cosine and the mean gain of the tools with phrases:
    such a score can pass 1.
    """

    DOCUMENT = "document"
    PHRASE = "phrase"
    MEAN = "mean"


VIEWS = tuple(DenseView)


class DenseRetriever:
    """Cosine over the vectors of a catalog: of all tools where they are few, else of the nearest candidates.

    Products are taken row by row (`vecdot`), as fast as a matrix product on one thread: that would wake BLAS's others,
    which agents have better use for and two requests at once would wait for.

    `candidates` and `moments` come together, or neither does: then every vector is scored, from a copy in float32 where
    they are few.
    """

    def __init__(self, vectors: Vectors, candidates: Candidates | None = None, moments: Moments | None = None) -> None:
        self._vectors = vectors
        self._candidates = candidates
        self._moments = moments
        is_copied = candidates is None and vectors.offsets[-1] <= MOST_COPIED
        self._copy = vectors.of_tools(0, len(vectors)) if is_copied else None
        self._count = candidates_of(len(vectors))

    def rank(
        self, vector: NDArray[np.float32], depth: int, view: DenseView, admitted: Admitted | None = None
    ) -> Ranking:
        """The `depth` nearest tools of those admitted. Center and spread are those of the whole catalog."""
        count = max(self._count, 2 * depth)
        if self._candidates is None or self._moments is None or count >= len(self._vectors):
            scores = self.scores(vector, view)
            tools = _reaching(scores, depth) if admitted is None else admitted.ordinals
            return Ranking.of(tools, scores[tools], float(scores.mean()), float(scores.std())).cut(depth)
        tools = self._nearest(self._candidates, vector, count, admitted)
        scores = _rounded(_viewed(*self._scored(vector, tools), view, self._moments.lifted(vector)))
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
        return _rounded(_viewed(*self._scored(vector, tools), view, 0.0))

    def mean_cosines(self, vector: NDArray[np.float32], tools: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean cosine with all texts of each of some tools, document and phrases, shape (len(tools),)."""
        cosines, offsets = self._cosines(vector, tools)
        means: NDArray[np.float64] = np.add.reduceat(cosines.astype(np.float64), offsets[:-1]) / np.diff(offsets)
        return means

    def scores(self, vector: NDArray[np.float32], view: DenseView) -> NDArray[np.float64]:
        """The score of every tool, shape (tools,)."""
        offsets = self._vectors.offsets
        if self._copy is not None:
            documents, nearest = _parts(np.vecdot(self._copy, vector), offsets)
        else:
            blocks = range(0, len(self._vectors), _BLOCK)
            found = [self._scored(vector, np.arange(b, min(b + _BLOCK, len(self._vectors)))) for b in blocks]
            documents, nearest = (np.concatenate(part) for part in zip(*found, strict=True))
        lift = 0.0 if np.isnan(nearest).all() else float(np.nanmean(nearest - documents))
        return _rounded(_viewed(documents, nearest, view, lift))

    def best_phrases(self, vector: NDArray[np.float32], tools: Sequence[int]) -> list[int | None]:
        """Which of each tool's phrases, from 0, is nearest to the request; None where it has none."""
        cosines, offsets = self._cosines(vector, np.array(tools, np.int64))
        pairs = itertools.pairwise(offsets.tolist())
        return [int(np.argmax(cosines[first + 1 : last])) if last > first + 1 else None for first, last in pairs]

    def _scored(self, vector: NDArray[np.float32], tools: NDArray[np.int64]) -> "_Parts":
        return _parts(*self._cosines(vector, tools))

    def _cosines(
        self, vector: NDArray[np.float32], tools: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The cosines of some tools' vectors, tool by tool, and the offsets (tools + 1,) where each begins."""
        rows, offsets = self._vectors.places(tools)
        return self._vectors.products(rows, vector), offsets


def candidates_of(tools: int) -> int:
    """How many candidates a catalog of so many tools is searched for."""
    return max(_FEWEST, int(_FACTOR * tools**_POWER))


# By tool the cosine with its document, and with its nearest phrase: not-a-number where it has none.
_Parts = tuple[NDArray[np.float32], NDArray[np.float32]]


def _parts(cosines: NDArray[np.float32], offsets: NDArray[np.int64]) -> _Parts:
    """Of the cosines of some tools' vectors; tool i has cosines[offsets[i]:offsets[i+1]], its document's first."""
    nearest = np.full(len(offsets) - 1, np.nan, np.float32)
    held = np.diff(offsets) > 1
    if held.any():
        # Pairs of first phrase and end: every second piece lies between two tools' phrases, and is let go.
        bounds = np.stack([offsets[:-1] + 1, offsets[1:]], axis=1)[held].ravel()
        nearest[held] = np.maximum.reduceat(np.append(cosines, np.float32(-1)), bounds)[::2]
    return cosines[offsets[:-1]], nearest


def _viewed(
    documents: NDArray[np.float32], nearest: NDArray[np.float32], view: DenseView, lift: float
) -> NDArray[np.float32]:
    if view is DenseView.DOCUMENT:
        return documents
    # A phrase is nearer to a request than a document is, to any request. A tool without phrases is lifted by what they
    # give the others on average. Mean nDCG@10 of five sets, 10, 50 and 90 % of the tools with phrases, when fused:
    # .738, .773, .819 against .731, .763, .817 by its document's cosine alone.
    best: NDArray[np.float32] = np.where(np.isnan(nearest), documents + np.float32(lift), nearest)
    if view is DenseView.MEAN:
        best += documents
        best /= 2
    return best


def _rounded(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    # Equal vectors can differ in the last bits by their row in a BLAS block; rounded, they tie and go by id.
    return np.round(scores, 6).astype(np.float64)


def _reaching(scores: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """The tools that are among the best `depth`, ties at the end all included."""
    if depth >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth])
