"""Hold the vectors that the adapter is learned from: a catalog's records, documents and phrases."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import DenseView, blend

_BLOCK = 256
_TOOLS = 2_048


@dataclass(frozen=True)
class PhraseSpace:
    """L2-normalised float32 vectors of a catalog.

    `records` (tools, dim) are of the tools' records, without their expansions; `documents` (tools, dim) and `phrases`
    (phrases, dim) are as in the snapshot. `owners`, int64 (phrases,), has the ordinal of each phrase's tool, ascending.
    """

    records: NDArray[np.float32]
    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    owners: NDArray[np.int64]

    def every_fourth(self) -> NDArray[np.bool_]:
        """Return a mask (phrases,) of the phrases to hold out: one in four of each tool's, from the second on."""
        first = np.searchsorted(self.owners, self.owners)
        marks: NDArray[np.bool_] = (np.arange(len(self.owners)) - first) % 4 == 1
        return marks

    def candidates(
        self, own: NDArray[np.int64], rng: np.random.Generator, most: int, siblings: int
    ) -> NDArray[np.int64]:
        """Return the ordinals, sorted, of the tools that a batch is contrasted with, its own tools among them.

        These are all tools of a small catalog; else the `siblings` nearest of each own tool by its record (the hard
        negatives), and random ones up to `most`.
        """
        tools = len(self.records)
        if tools <= most:
            return np.arange(tools)
        near = np.unique(np.concatenate([own, self._nearest[own, :siblings].ravel()]))
        return np.unique(np.concatenate([near, rng.integers(tools, size=max(most - len(near), 0))]))

    def reciprocal_ranks(self, requests: NDArray[np.float32], left_out: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return 1 / rank of each request's own tool, by the mean of document and best phrase.

        `requests` stand for the phrases `left_out`. Held-out phrases act as queries: all of them (`every_fourth`) are
        removed from the index. Shape (len(left_out),).
        """
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
        """The phrases that are not held out, the tools that have any, and the start of each tool's, then the end."""
        kept = np.flatnonzero(~self.every_fourth())
        held, first = np.unique(self.owners[kept], return_index=True)
        return self.phrases[kept], held, np.append(first, len(kept))

    @cached_property
    def _nearest(self) -> NDArray[np.int64]:
        """The eight nearest tools of each tool by its record, itself left out; shape (tools, 8)."""
        found = np.empty((len(self.records), 8), np.int64)
        for start in range(0, len(self.records), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(self.records)))
            scores = self.records[rows] @ self.records.T
            scores[np.arange(len(rows)), rows] = -np.inf
            found[rows] = np.argpartition(-scores, 8, axis=1)[:, :8]
        return found
