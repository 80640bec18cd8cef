"""The vectors that tuning learns from: a catalog's records, documents and phrases."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import DenseView, blend

_BLOCK = 256
_TOOLS = 2_048


@dataclass(frozen=True)
class PhraseSpace:
    """L2-normalised float32: `records` (tools, dim) of what a tool's record says, without a word of its expansion;
    `documents` (tools, dim) and `phrases` (phrases, dim) as the snapshot has them. `owners`, int64 of shape (phrases,)
    and rising, has the ordinal of each phrase's tool.
    """

    records: NDArray[np.float32]
    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    owners: NDArray[np.int64]

    def every_fourth(self) -> NDArray[np.bool_]:
        """Which phrases to leave out: one in four of each tool's, from the second on; shape (phrases,)."""
        first = np.searchsorted(self.owners, self.owners)
        marks: NDArray[np.bool_] = (np.arange(len(self.owners)) - first) % 4 == 1
        return marks

    def candidates(
        self, own: NDArray[np.int64], rng: np.random.Generator, most: int, siblings: int
    ) -> NDArray[np.int64]:
        """Tools to tell a batch's own tools from, those among them, sorted: all of a small catalog; else each one's
        nearest by its record, which are the hard ones, and as many at random as there is room for."""
        tools = len(self.records)
        if tools <= most:
            return np.arange(tools)
        near = np.unique(np.concatenate([own, self._nearest[own, :siblings].ravel()]))
        return np.unique(np.concatenate([near, rng.integers(tools, size=max(most - len(near), 0))]))

    def reciprocal_ranks(self, requests: NDArray[np.float32], left_out: NDArray[np.int64]) -> NDArray[np.float64]:
        """1 / rank of the own tool by the mean of document and best phrase, for requests in the place of phrases
        `left_out`, which and whose like (`every_fourth`) are no phrases here. Shape (len(left_out),)."""
        phrases, held, first = self._kept
        found = np.empty(len(requests))
        for start in range(0, len(requests), _BLOCK):
            rows = slice(start, start + _BLOCK)
            asked = np.ascontiguousarray(requests[rows].T)
            documents = self.documents @ asked
            nearest = np.full_like(documents, np.nan)
            for tool in range(0, len(held), _TOOLS):
                bounds = first[tool : tool + _TOOLS + 1]
                own = phrases[bounds[0] : bounds[-1]] @ asked
                nearest[held[tool : tool + _TOOLS]] = np.maximum.reduceat(own, bounds[:-1] - bounds[0], axis=0)
            lift = (nearest[held] - documents[held]).mean(axis=0)
            scores = blend(documents, nearest, DenseView.MEAN, lift)
            own = scores[self.owners[left_out[rows]], np.arange(scores.shape[1])]
            found[rows] = 1 / (1 + (scores > own).sum(axis=0))
        return found

    @cached_property
    def _kept(self) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
        """The phrases that are not left out, the tools that have any, and where each one's begin; then the end."""
        kept = np.flatnonzero(~self.every_fourth())
        held, first = np.unique(self.owners[kept], return_index=True)
        return self.phrases[kept], held, np.append(first, len(kept))

    @cached_property
    def _nearest(self) -> NDArray[np.int64]:
        """The eight nearest tools of each by its record, itself left out; shape (tools, 8)."""
        found = np.empty((len(self.records), 8), np.int64)
        for start in range(0, len(self.records), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(self.records)))
            scores = self.records[rows] @ self.records.T
            scores[np.arange(len(rows)), rows] = -np.inf
            found[rows] = np.argpartition(-scores, 8, axis=1)[:, :8]
        return found
