"""Put pairs into batches that hold siblings: in a batch every other tool is a negative, so near ones are hard ones.

Imported only where training begins, as `trainer` is.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.util import semantic_search

from quartermaster.training.pairs import TrainingPairs

Siblings = dict[int, list[int]]  # near tools with requests, of each tool with requests

_SIBLINGS = 4
# Tools as near as this are duplicates, or cannot be told apart by their texts: no negatives of each other.
_TOO_NEAR = 0.97
_LOOKED_AT = 16  # the nearest: itself, duplicates and siblings


def siblings_of(pairs: TrainingPairs, asked: NDArray[np.int64], vectors: NDArray[np.float32]) -> Siblings:
    """Return the siblings of the tools `asked`, in their own catalogs, nearest first.

    `vectors` (asked, dim) are L2-normalised, of the encoder before it is trained.
    """
    found: Siblings = {}
    for group in np.unique(pairs.group[asked]):
        rows = np.flatnonzero(pairs.group[asked] == group)
        of_group = torch.from_numpy(vectors[rows])
        for row, hits in zip(rows, semantic_search(of_group, of_group, top_k=_LOOKED_AT), strict=True):
            near = [int(rows[int(hit["corpus_id"])]) for hit in hits if hit["score"] < _TOO_NEAR]
            found[int(asked[row])] = [int(asked[other]) for other in near if other != row][:_SIBLINGS]
    return found


class SiblingBatches(DefaultBatchSampler):
    """Yields batches of places in `pairs.taught`, each at most once an epoch, equal for equal seeds.

    A batch is filled by a random tool and its siblings, again and again, with one request of each. A tool that a
    request of the batch needs as well is never its negative. The epoch ends before a batch that would be small.
    """

    def __init__(self, dataset: Any, pairs: TrainingPairs, siblings: Siblings, **options: Any) -> None:
        super().__init__(dataset, **options)
        self._pairs, self._siblings = pairs, siblings

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        waiting: dict[int, list[int]] = {}
        for place in rng.permutation(len(self._pairs.taught)).tolist():
            waiting.setdefault(int(self._pairs.owners[self._pairs.taught[place]]), []).append(place)
        while waiting:
            batch = self._batch(rng.permutation(list(waiting)).tolist(), waiting)
            waiting = {tool: places for tool, places in waiting.items() if places}
            if len(batch) < max(self.batch_size // 4, 2):
                return
            yield batch

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _batch(self, tools: Sequence[int], waiting: dict[int, list[int]]) -> list[int]:
        batch: dict[int, int] = {}  # by tool
        needed: set[int] = set()
        for tool in (near for drawn in tools for near in (drawn, *self._siblings[drawn])):
            if tool in batch or tool in needed or not waiting.get(tool):
                continue
            others = self._pairs.needed[self._pairs.requests[self._pairs.taught[waiting[tool][-1]]]] - {tool}
            if others.isdisjoint(batch):
                batch[tool] = waiting[tool].pop()
                needed |= others
            if len(batch) == self.batch_size:
                break
        return list(batch.values())
