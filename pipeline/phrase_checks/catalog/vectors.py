"""The vectors of a catalog, and which tools its texts fit as well as their own."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool

# Scores held at once: 32 MB of them.
BLOCK = 8_000_000
# Equal vectors differ in the last bits by where they lie in a matrix product; scores nearer than this are equal.
TIE = 1e-5


@dataclass(frozen=True, slots=True)
class Competitors:
    """Which other tools texts fit as well as their own, or better. Entry i says that text rows[i] scores scores[i] at
    tool tools[i]; texts in order, tools in the order of ordinals. Tools that are the same as a text's own are left out.
    """

    rows: NDArray[np.int64]
    tools: NDArray[np.int64]
    scores: NDArray[np.float32]

    def take(self, kept: NDArray[np.bool_]) -> "Fits":
        """The entries that a mask keeps."""
        return Competitors(self.rows[kept], self.tools[kept], self.scores[kept])

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """For each text with an entry: the text, its highest score, and the first tool that scores it, whatever the
        last bits say."""
        texts, starts = np.unique(self.rows, return_index=True)
        if not len(texts):
            return texts, self.scores, self.tools
        highest = np.maximum.reduceat(self.scores, starts)
        lengths = np.diff(np.append(starts, len(self.rows)))
        _, first = np.unique(self.rows[tied := self.scores >= np.repeat(highest - TIE, lengths)], return_index=True)
        return texts, highest, self.tools[tied][first]


@dataclass(frozen=True)
class CatalogVectors:
    """`records` (tools, dim) and `phrases` (phrases, dim), float32. Tool i owns phrases[offsets[i]:offsets[i+1]].

    `owners` (phrases,) are ordinals; `kinds` (tools,) are equal for tools that are the same tool; `judged` (tools,) is
    false for tools whose phrases are out of play.
    """

    records: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    owners: NDArray[np.int64]
    kinds: NDArray[np.int64]
    judged: NDArray[np.bool_]
    block: int

    @classmethod
    def of(
        cls,
        subjects: Sequence[AssessedTool],
        records: NDArray[np.float32],
        phrases: NDArray[np.float32],
        block: int,
    ) -> "Space":
        """Raises ValueError where the shapes are not those of the subjects."""
        counts = np.array([len(subject.phrases) for subject in subjects], np.int64)
        if len(records) != len(subjects) or len(phrases) != counts.sum():
            raise ValueError(
                f"{len(subjects)} tools with {counts.sum()} phrases have {len(records)} and {len(phrases)} vectors"
            )
        first: dict[str, int] = {}
        return cls(
            records.astype(np.float32, copy=False),
            phrases.astype(np.float32, copy=False),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.repeat(np.arange(len(subjects), dtype=np.int64), counts),
            np.array([first.setdefault(subject.content, tool) for tool, subject in enumerate(subjects)], np.int64),
            counts > 0,
            block,
        )

    def without(self, tools: Collection[int]) -> "Space":
        """The same catalog, where the phrases of some tools neither are judged nor speak for their tool."""
        judged = self.judged.copy()
        judged[list(tools)] = False
        return replace(self, judged=judged)

    def sums(self) -> NDArray[np.float32]:
        """(tools, dim): the sum of each tool's phrases; zero where none is in play."""
        found = np.zeros_like(self.records)
        tools = np.flatnonzero(self.judged)
        if len(tools):
            held = self.judged[self.owners]
            counts = np.diff(self.offsets)[tools]
            # Boolean indexing copies, and all are in play but for a few tools.
            phrases = self.phrases if held.all() else self.phrases[held]
            found[tools] = np.add.reduceat(phrases, np.cumsum([0, *counts[:-1]]), axis=0)
        return found

    def means(self, sums: NDArray[np.float32]) -> NDArray[np.float32]:
        """(tools, dim): the mean of each tool's phrases, by their `sums`; where none is in play, its record."""
        divisor = np.maximum(np.diff(self.offsets), 1)[:, None].astype(np.float32)
        found: NDArray[np.float32] = np.where(self.judged[:, None], sums / divisor, self.records)
        return found

    def runs(self, rows_a_tool: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The judged tools in order, in runs whose rows against all tools are no more scores than a block holds."""
        rows = max(self.block // max(len(self.records), 1), 1)
        run: list[int] = []
        filled = 0
        for tool in np.flatnonzero(self.judged).tolist():
            count = int(rows_a_tool[tool])
            if run and filled + count > rows:
                yield np.array(run, np.int64)
                run, filled = [], 0
            run.append(tool)
            filled += count
        if run:
            yield np.array(run, np.int64)

    def fits(
        self,
        texts: NDArray[np.float32],
        owners: NDArray[np.int64],
        own: NDArray[np.float32],
        centres: NDArray[np.float32],
        among: NDArray[np.int64] | None = None,
    ) -> Competitors:
        """Which tools, each with a centre (tools, dim), `texts` (rows, dim) fit as well as their owner, where they
        score `own` (rows,); only those `among`, rising ordinals, where they are given.

        One product and one comparison a score: what is worked out from a score besides is of the few that are as high.
        """
        scores = texts @ (centres if among is None else centres[among]).T
        rows, places = np.nonzero(scores >= (own - np.float32(TIE))[:, None])
        tools = places if among is None else among[places]
        found = Competitors(rows, tools, scores[rows, places])
        return found.take(self.kinds[tools] != self.kinds[owners[rows]])


@dataclass(frozen=True)
class ScoreDistribution:
    """Mean and standard deviation of a text's scores over the catalog, from the centres' mean and second moments."""

    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    count: int

    @classmethod
    def of(cls, centres: NDArray[np.float32]) -> "Spread":
        """Of centres (tools, dim)."""
        # In double precision: a variance is a small difference of large sums.
        wide = centres.astype(np.float64)
        return cls(wide.mean(axis=0), wide.T @ wide / len(wide), len(wide))

    def standard(
        self, texts: NDArray[np.float32], own_centres: NDArray[np.float32], own: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation (rows,) of the scores of texts (rows, dim), where each scores `own` (rows,) at its own
        tool, and not what its own tool's centre (rows, dim) gives. A deviation of next to nothing is infinite."""
        wide = texts.astype(np.float64)
        given, instead = np.einsum("ij,ij->i", wide, own_centres), own.astype(np.float64)
        mean = wide @ self.mean + (instead - given) / self.count
        square = np.einsum("ij,ij->i", wide @ self.squares, wide) + (instead**2 - given**2) / self.count
        deviation = np.sqrt(np.maximum(square - mean**2, 0))
        return mean, np.where(deviation > TIE, deviation, np.inf)
