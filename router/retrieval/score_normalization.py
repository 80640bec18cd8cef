"""Score normalisation by background queries (Z-norm): how far a request's scores exceed theirs.

Raw scores are not comparable: 0.4 is near in one catalog and far in another, and some tools are near to any request. So
each score is compared with the scores of background queries on the same tool, as speaker verification does with
impostors (Auckenthaler, Carey and Lloyd-Thomas, Digital Signal Processing 10, 2000).
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.contract import BACKGROUND_SCORES, BACKGROUND_VECTOR, Signal
from router.errors import SnapshotInvalid
from router.retrieval.arrays import load_float32
from router.retrieval.retrievers import MAX_QUERY_TERMS, Ranking

# Name of the feature that no list gives: whether a request is worded like a task, or like small talk.
TASK_WORDING = "errand"

# Tools that the dense feature averages. See docs/decisions/abstention.md.
_NEAREST = 3


class BackgroundScores(msgspec.Struct, frozen=True, dict=True):
    """The scores of background queries on the tools of a catalog.

    `statistics` holds for each signal float32 of shape (2, tools): mean and standard deviation of each tool's scores,
    BM25 divided by the root of the number of terms. `task_direction`, float32 of shape (dim,), points from small talk
    to tasks among adapted vectors; None without an encoder.
    """

    statistics: Mapping[Signal, NDArray[np.float32]]
    task_direction: NDArray[np.float32] | None = None

    @cached_property
    def _floor(self) -> dict[Signal, float]:
        """Return for each signal the highest z-score of a tool that scores 0: the feature of an empty list."""
        return {signal: float(np.max(-mean / deviation)) for signal, (mean, deviation) in self.statistics.items()}

    def save(self, folder: Path) -> tuple[str, ...]:
        """Write the arrays into a snapshot's folder and return the names of the files."""
        # One row per member of `Signal`, NaN where it was not measured.
        tools = max((array.shape[1] for array in self.statistics.values()), default=0)
        table = np.full((len(Signal), 2, tools), np.nan, np.float32)
        for row, signal in enumerate(Signal):
            if signal in self.statistics:
                table[row] = self.statistics[signal]
        np.save(folder / BACKGROUND_SCORES, table, allow_pickle=False)
        if self.task_direction is None:
            return (BACKGROUND_SCORES,)
        np.save(folder / BACKGROUND_VECTOR, self.task_direction.astype(np.float32), allow_pickle=False)
        return (BACKGROUND_SCORES, BACKGROUND_VECTOR)

    @classmethod
    def open(cls, folder: Path, tools: int, dim: int | None) -> "BackgroundScores":
        """Open the background scores of a snapshot with `tools` tools.

        `dim` is the length of its vectors, None without an encoder. Raises SnapshotInvalid where a file is missing,
        unreadable or of another catalog.
        """
        # A snapshot made before the last members of `Signal` were added has fewer rows.
        table = load_float32(folder / BACKGROUND_SCORES, (None, 2, tools))
        statistics = {signal: rows for signal, rows in zip(Signal, table, strict=False) if not np.isnan(rows).any()}
        direction = None if dim is None else load_float32(folder / BACKGROUND_VECTOR, (dim,))
        if direction is not None and not np.isfinite(direction).all():
            raise SnapshotInvalid(f"{folder / BACKGROUND_VECTOR} holds numbers that are not finite")
        return cls(statistics, direction)

    def features(
        self, rankings: Mapping[Signal, Ranking], request_terms: Sequence[str], vector: NDArray[np.float32] | None
    ) -> dict[str, float]:
        """Return the features of a request by signal, and TASK_WORDING.

        A feature whose list or vector is missing is left out. The lists must be made as those of the background queries
        were. A signal's feature is the highest z-score of a tool relative to the background queries; for the
        dense signal, the mean of the best three. `vector` is the one that the dense list was ranked by.
        """
        features: dict[str, float] = {}
        for signal, (mean, deviation) in self.statistics.items():
            if signal not in rankings:
                continue
            ordinals = rankings[signal].ordinals
            scores = length_normalized(signal, rankings[signal].scores, request_terms)
            standard = (scores - mean[ordinals]) / deviation[ordinals]
            if signal is Signal.DENSE:
                features[signal] = float(np.sort(standard)[-_NEAREST:].mean())
            else:
                features[signal] = max(float(standard.max(initial=-math.inf)), self._floor[signal])
        if vector is not None and self.task_direction is not None:
            features[TASK_WORDING] = float(vector @ self.task_direction)
        return features


def length_normalized(signal: Signal, scores: NDArray[np.float64], request_terms: Sequence[str]) -> NDArray[np.float64]:
    """Return scores that do not grow with a request's length: BM25 divided by the root of its number of terms."""
    if signal is Signal.DENSE:
        return scores
    return scores / math.sqrt(max(len(set(request_terms[:MAX_QUERY_TERMS])), 1))
