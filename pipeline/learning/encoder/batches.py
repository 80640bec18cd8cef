"""Put pairs into batches that hold siblings: in a batch every other tool is a negative, so near ones are hard ones."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.pairs import TrainingPairs

_BLOCK = 256
# Tools as near as this are duplicates, or cannot be told apart by their texts: no negatives of each other.
_TOO_NEAR = 0.97


@dataclass(frozen=True, slots=True)
class BatchSize:
    """A batch has so many `tools`, at most so many `requests` of each, and beside a tool up to so many `siblings`."""

    tools: int = 40
    requests: int = 3
    siblings: int = 4


def nearest_tools(vectors: NDArray[np.float32], group: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the nearest tools of each tool in its own catalog, nearest first; shape (tools, count), padded with -1.

    `vectors` (tools, dim) are L2-normalised, of the encoder before it is tuned. Tools that are too near to be
    negatives are left out.
    """
    nearest = np.full((len(vectors), count), -1, np.int64)
    for start in range(0, len(vectors), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(vectors)))
        scores = vectors[rows] @ vectors.T
        scores[(scores >= _TOO_NEAR) | (group[rows, None] != group)] = -np.inf
        scores[np.arange(len(rows)), rows] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        is_sibling = np.isfinite(np.take_along_axis(scores, order, 1))
        nearest[rows, : order.shape[1]] = np.where(is_sibling, order, -1)
    return nearest


def epoch_batches(
    pairs: TrainingPairs, nearest: NDArray[np.int64], size: BatchSize, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield the batches of one epoch: positions of pairs, each taught pair at most once.

    A batch is filled by a random tool and near ones, again and again. A tool that a request of the batch needs as well
    is never its negative. The epoch ends before a batch that would be small.
    """
    left: dict[int, list[int]] = {}
    for pair in rng.permutation(pairs.taught).tolist():
        left.setdefault(int(pairs.owners[pair]), []).append(pair)
    while left:
        batch = _Batch(pairs, size)
        for tool in rng.permutation(list(left)).tolist():
            if batch.full:
                break
            near = [int(other) for other in nearest[tool, : size.siblings] if other in left]
            for chosen in (tool, *near):
                batch.add(chosen, left)
        if batch.tools < max(size.tools // 4, 2):
            return
        yield np.array(batch.pairs, np.int64)


class _Batch:
    """A batch in the making."""

    def __init__(self, pairs: TrainingPairs, size: BatchSize) -> None:
        self.pairs: list[int] = []
        self._source = pairs
        self._size = size
        self._tools: set[int] = set()
        self._needed: set[int] = set()

    @property
    def tools(self) -> int:
        return len(self._tools)

    @property
    def full(self) -> bool:
        return self.tools >= self._size.tools

    def add(self, tool: int, left: dict[int, list[int]]) -> None:
        """Move pairs of a tool from `left` into the batch, but none that would make a needed tool a negative."""
        if self.full or tool in self._tools or tool in self._needed or tool not in left:
            return
        waiting, taken = left[tool], 0
        for pair in tuple(waiting):
            others = self._source.needed[self._source.requests[pair]] - {tool}
            if taken < self._size.requests and not others & self._tools:
                self.pairs.append(pair)
                self._needed |= others
                waiting.remove(pair)
                taken += 1
        if taken:
            self._tools.add(tool)
        if not waiting:
            del left[tool]
