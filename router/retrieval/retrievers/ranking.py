"""A ranking: the result of every retriever and of fusion."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_NO_SPREAD = 1e-6  # the precision that cosines are rounded to


@dataclass(frozen=True, slots=True)
class Ranking:
    """Tools by descending score; ties by ascending ordinal, which is the order of tool ids.

    `ordinals` int64 and `scores` float64, both of shape (n,): row i has rank i + 1. `center` and `spread` are the mean
    and the standard deviation of the query's scores over the whole catalog. A retriever may take as `center` the score
    of a tool that has nothing in common with the query.
    """

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float64]
    center: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(
        cls, ordinals: NDArray[np.int64], scores: NDArray[np.float64], center: float = 0.0, spread: float = 1.0
    ) -> "Ranking":
        """Sort candidates into a ranking. A spread near 0 does not distinguish tools and becomes 1."""
        order = np.lexsort((ordinals, -scores))
        return cls(ordinals[order], scores[order], center, spread if spread > _NO_SPREAD else 1.0)

    def cut(self, depth: int) -> "Ranking":
        """Return the ranking's first `depth` tools."""
        return replace(self, ordinals=self.ordinals[:depth], scores=self.scores[:depth])

    def standard(self) -> NDArray[np.float64]:
        """Return standard scores, shape (n,): spreads above the center, 0 for those below it."""
        return np.maximum(self.scores - self.center, 0.0) / self.spread

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self.ordinals)

    def rank_of(self, ordinal: int) -> int | None:
        """Return the rank of a tool, from 1; None where it is not in the ranking."""
        rows = np.flatnonzero(self.ordinals == ordinal)
        return int(rows[0]) + 1 if len(rows) else None


EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))
