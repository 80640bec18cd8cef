"""A ranking: what every retriever gives, and what fusion takes and gives."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_NO_SPREAD = 1e-6  # cosines are rounded there


@dataclass(frozen=True, slots=True)
class Ranking:
    """Tools by falling score; equal scores by rising ordinal, which is the order of tool ids.

    `ordinals` int64 and `scores` float64, both of shape (n,): row i is rank i + 1. `center` and `spread` are the mean
    and the standard deviation of the scores that this request gives over the whole catalog, listed or not; a retriever
    may put `center` at the score of a tool that has nothing in common with the request.
    """

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float64]
    center: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(
        cls, ordinals: NDArray[np.int64], scores: NDArray[np.float64], center: float = 0.0, spread: float = 1.0
    ) -> "Ranking":
        """Sort candidates into a ranking. A spread of next to nothing tells no tools apart, and counts as 1."""
        order = np.lexsort((ordinals, -scores))
        return cls(ordinals[order], scores[order], center, spread if spread > _NO_SPREAD else 1.0)

    def cut(self, depth: int) -> "Ranking":
        """The first `depth` tools."""
        return replace(self, ordinals=self.ordinals[:depth], scores=self.scores[:depth])

    def standard(self) -> NDArray[np.float64]:
        """Standard scores, shape (n,): how many spreads each tool stands above the center, from 0 up."""
        return np.maximum(self.scores - self.center, 0.0) / self.spread

    def __len__(self) -> int:
        return len(self.ordinals)

    def rank_of(self, ordinal: int) -> int | None:
        """The rank, from 1, of a tool; None where the list does not hold it."""
        found = np.flatnonzero(self.ordinals == ordinal)
        return int(found[0]) + 1 if len(found) else None


EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))
