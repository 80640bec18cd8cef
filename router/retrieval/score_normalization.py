"""The cohort: everyday requests, and how far above what they score a request's lists rise.

A score alone says little: 0.4 is near in one catalog and far in another, and some tools are near to whatever is said.
So each score is held against what a cohort of everyday requests scores on the same tool, as speaker verification does
with impostors (Z-norm: Auckenthaler, Carey and Lloyd-Thomas, Digital Signal Processing 10, 2000).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router.contract import BACKGROUND_SCORES, BACKGROUND_VECTOR, Signal
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import MAX_QUERY_TERMS, Ranking

# The cue that no list gives: whether a request is worded like an errand, or like talk.
ERRAND = "errand"

# One tool may be met by chance; a tool that fits has neighbours that nearly fit, and a request of several steps has
# several. Of what no tool fits, refused where 95 % are kept, by the dense cue alone, mean of eight settings: .620 by
# the best tool, .625 by the best three, .608 by the best five; on MetaTool .58, .63 and .63.
_NEAREST = 3


@dataclass(frozen=True)
class BackgroundScores:
    """What everyday requests score on the tools of a catalog.

    `statistics` has for each signal float32 of shape (2, tools): mean and deviation of a tool's scores, BM25 divided by
    the root of the number of terms. `errand`, float32 of shape (dim,), leads from talk to errands among the
    vectors that the dense list is ranked by; None without an encoder.
    """

    statistics: Mapping[Signal, NDArray[np.float32]]
    errand: NDArray[np.float32] | None = None

    @cached_property
    def _floor(self) -> dict[Signal, float]:
        """What a list that holds nothing is worth: the highest standing of a tool that scores 0."""
        return {signal: float(np.max(-mean / deviation)) for signal, (mean, deviation) in self.statistics.items()}

    def save(self, folder: Path) -> tuple[str, ...]:
        """Write the arrays into a snapshot's folder and return the names of the files."""
        # A signal that was not measured is a row of not-a-number: the order is that of Signal.
        tools = max((array.shape[1] for array in self.statistics.values()), default=0)
        table = np.full((len(Signal), 2, tools), np.nan, np.float32)
        for row, signal in enumerate(Signal):
            if signal in self.statistics:
                table[row] = self.statistics[signal]
        np.save(folder / BACKGROUND_SCORES, table, allow_pickle=False)
        if self.errand is None:
            return (BACKGROUND_SCORES,)
        np.save(folder / BACKGROUND_VECTOR, self.errand.astype(np.float32), allow_pickle=False)
        return (BACKGROUND_SCORES, BACKGROUND_VECTOR)

    @classmethod
    def open(cls, folder: Path, tools: int, dim: int | None) -> "BackgroundScores":
        """The cohort of a snapshot of so many tools; `dim` is that of its vectors, None without an encoder.

        Raises SnapshotInvalid where a file is missing, unreadable or of another catalog.
        """
        table = _array(folder / BACKGROUND_SCORES, (len(Signal), 2, tools))
        statistics = {signal: rows for signal, rows in zip(Signal, table, strict=True) if not np.isnan(rows).any()}
        return cls(statistics, None if dim is None else _array(folder / BACKGROUND_VECTOR, (dim,)))

    def cues(
        self,
        rankings: Mapping[Signal, Ranking],
        request_terms: Sequence[str],
        vector: NDArray[np.float32] | None,
    ) -> dict[str, float]:
        """The cues of a request, by signal and ERRAND, of what is given: lists as the cohort's were made.

        A list's cue is how many deviations above everyday requests its best tool stands (dense: the mean of the best
        three). `vector` is the one that the dense list was ranked by.
        """
        found: dict[str, float] = {}
        for signal, (mean, deviation) in self.statistics.items():
            if signal not in rankings:
                continue
            held = rankings[signal].ordinals
            standing = (scaled(signal, rankings[signal].scores, request_terms) - mean[held]) / deviation[held]
            if signal is Signal.DENSE:
                found[signal] = float(np.sort(standing)[-_NEAREST:].mean())
            else:
                found[signal] = max(float(standing.max(initial=-math.inf)), self._floor[signal])
        if vector is not None and self.errand is not None:
            found[ERRAND] = float(vector @ self.errand)
        return found


def scaled(signal: Signal, scores: NDArray[np.float64], request_terms: Sequence[str]) -> NDArray[np.float64]:
    """Scores that a long request does not raise: BM25, a sum over terms, by the root of their number."""
    if signal is Signal.DENSE:
        return scores
    return scores / math.sqrt(max(len(set(request_terms[:MAX_QUERY_TERMS])), 1))


def _array(path: Path, shape: tuple[int, ...]) -> NDArray[np.float32]:
    try:
        array: NDArray[np.float32] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    if array.shape != shape or array.dtype != np.float32:
        raise SnapshotInvalid(f"{path} holds {array.dtype} of shape {array.shape}, not float32 of shape {shape}")
    return array
