"""The vectors of a catalog, and how texts fit the tools in it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipeline.assessment.subject import Subject

# Scores held at once: 32 MB of them, and about as much again for what is worked out from them.
BLOCK = 8_000_000
# Equal vectors differ in the last bits by where they lie in a matrix product; scores nearer than this are equal.
TIE = 1e-5


@dataclass(frozen=True, slots=True)
class Fit:
    """How texts fit their own tool beside the others; one row a text.

    `own` is by how many standard deviations of the catalog's scores a text fits its own tool better than the mean tool,
    `lead` by how many the best other tool is ahead of its own, `best` the ordinal of that tool; -1 where every tool of
    the catalog is the same.
    """

    own: NDArray[np.float64]
    lead: NDArray[np.float64]
    best: NDArray[np.int64]


@dataclass(frozen=True)
class Space:
    """`records` (tools, dim) and `phrases` (phrases, dim), float32. Tool i owns phrases[offsets[i]:offsets[i+1]].

    `owners` (phrases,) are ordinals; `alike` has for a tool the ordinals of all tools that are the same tool, where
    there are others; `judged` (tools,) is false for tools whose phrases are out of play.
    """

    records: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    owners: NDArray[np.int64]
    alike: dict[int, NDArray[np.int64]]
    judged: NDArray[np.bool_]
    block: int

    @classmethod
    def of(
        cls,
        subjects: Sequence[Subject],
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
        same: dict[str, list[int]] = {}
        for tool, subject in enumerate(subjects):
            same.setdefault(subject.content, []).append(tool)
        groups = [np.array(tools, np.int64) for tools in same.values() if len(tools) > 1]
        return cls(
            records.astype(np.float32, copy=False),
            phrases.astype(np.float32, copy=False),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.repeat(np.arange(len(subjects), dtype=np.int64), counts),
            {int(tool): group for group in groups for tool in group},
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
            found[tools] = np.add.reduceat(self.phrases[held], np.cumsum([0, *counts[:-1]]), axis=0)
        return found

    def means(self) -> NDArray[np.float32]:
        """(tools, dim): the mean of each tool's phrases; where none is in play, its record."""
        divisor = np.maximum(np.diff(self.offsets), 1)[:, None].astype(np.float32)
        found: NDArray[np.float32] = np.where(self.judged[:, None], self.sums() / divisor, self.records)
        return found

    def blocks(self, rows_a_tool: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The judged tools in order, in runs whose rows against all tools are no more scores than a block holds."""
        rows = max(self.block // max(len(self.records), 1), 1)
        run: list[int] = []
        filled = 0
        for tool in np.flatnonzero(self.judged):
            if run and filled + rows_a_tool[tool] > rows:
                yield np.array(run, np.int64)
                run, filled = [], 0
            run.append(int(tool))
            filled += int(rows_a_tool[tool])
        if run:
            yield np.array(run, np.int64)

    def fit(self, scores: NDArray[np.float32], owners: NDArray[np.int64], own: NDArray[np.float32]) -> Fit:
        """How rows of scores (rows, tools) fit. Changes `scores`: minus infinity for a text's own and equal tools."""
        rows = np.arange(len(scores))
        scores[rows, owners] = own
        mean, deviation = scores.mean(axis=1), scores.std(axis=1)
        scores[rows, owners] = -np.inf
        for tool in dict.fromkeys(owners.tolist()):
            if tool in self.alike:
                scores[np.ix_(owners == tool, self.alike[tool])] = -np.inf
        highest = scores.max(axis=1, initial=-np.inf).astype(np.float64)
        found = np.isfinite(highest)
        # The first of those that are equal, whatever the last bits say.
        best = np.where(found, np.argmax(scores >= (highest - TIE)[:, None], axis=1), -1)
        lead = np.where(found, np.round(highest, 6) - np.round(own, 6), 0.0)
        unit = np.where(deviation > TIE, deviation, np.inf)
        return Fit((np.round(own, 6) - mean) / unit, lead / unit, best.astype(np.int64))
