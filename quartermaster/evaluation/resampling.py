"""Test how far a mean can be trusted: bootstrap intervals and paired randomisation tests, both deterministic.

Percentile bootstrap over requests (Efron and Tibshirani, 1993), 95 %. Two-sided randomisation test by sign flips, for
retrieval: Smucker, Allan and Carterette, CIKM 2007. p of a sample counts the outcome itself (Phipson and Smyth, 2010).
Requests count as a sample of what people ask; the interval says nothing about requests of another sort.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 10_000
_LEVEL = (2.5, 97.5)
_SEED = 1979  # year of the bootstrap's first paper; any seed will do, as long as it stays
_EXACT = 13  # up to here all sign patterns are tried: 2 ** 13 are fewer than RESAMPLES
_CELLS = 2_000_000  # of a block of resamples: 16 MB


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over paired requests: its 95 % interval, its p, how many requests got better and worse."""

    difference: float
    low: float | None
    high: float | None
    p: float
    better: int
    worse: int

    def to_json(self) -> dict[str, Any]:
        """Return the difference as a JSON-ready dict."""
        interval = None if self.low is None else [self.low, self.high]
        counts = {"p": self.p, "better": self.better, "worse": self.worse}
        return {"difference": self.difference, "interval": interval, **counts}


def intervals(table: Floats) -> list[list[float] | None]:
    """Return the 95 % interval of the mean of each column of a table (requests, columns), where NaN is no value.

    All columns use the same resamples. None for a column with fewer than two values.
    """
    present = ~np.isnan(table)
    values = np.hstack([np.where(present, table, 0.0), present])
    columns = table.shape[1]
    draws = resampled(len(table), lambda counts: _means(counts @ values, columns))
    enough = present.sum(axis=0) >= 2
    return [bounds if some else None for some, bounds in zip(enough, percentiles(draws, columns).tolist(), strict=True)]


def resampled(requests: int, statistic: Callable[[Floats], Floats]) -> Floats:
    """Return a statistic of each of RESAMPLES draws of `requests` with replacement, shape (RESAMPLES, …).

    `statistic` takes how often each request was drawn, float64 of shape (draws, requests), and returns (draws, …).
    Without requests the result is empty.
    """
    return np.concatenate([statistic(counts) for counts in _draws(requests)]) if requests else np.empty((0, 0))


def percentiles(draws: Floats, columns: int) -> Floats:
    """Return the bounds of 95 % of each column, shape (columns, 2); draws without a value (NaN) are left out."""
    if not len(draws):
        return np.full((columns, 2), np.nan)
    # Sorting puts NaN last, which is much faster than nanpercentile: that one loops over the columns.
    ordered = np.sort(draws, axis=0)
    valid = (~np.isnan(ordered)).sum(axis=0)
    positions = np.array(_LEVEL)[:, None] / 100 * np.maximum(valid - 1, 0)
    below = np.floor(positions).astype(int)
    above = np.ceil(positions).astype(int)
    low, high = np.take_along_axis(ordered, below, 0), np.take_along_axis(ordered, above, 0)
    bounds: Floats = (low + (high - low) * (positions - below)).T
    return bounds


def differences(first: Floats, second: Floats) -> list[Difference | None]:
    """Return by column how much better the first table is than the second; rows are the same requests in both.

    None for a column without a request that both have a value for.
    """
    gains = first - second
    by_column: list[Difference | None] = []
    for column, interval in zip(gains.T, intervals(gains), strict=True):
        paired = column[~np.isnan(column)]
        low, high = interval or (None, None)
        better, worse = int((paired > 0).sum()), int((paired < 0).sum())
        found = Difference(float(paired.mean()), low, high, chance(paired), better, worse) if len(paired) else None
        by_column.append(found)
    return by_column


def chance(gains: Floats) -> float:
    """Return the two-sided p of a mean difference at least this large, if each request's sign were random.

    `gains` are paired differences, shape (requests,).
    """
    moved = gains[gains != 0]  # a difference of 0 is 0 with either sign
    if not len(moved):
        return 1.0
    observed = abs(moved.sum()) - 1e-9  # equal sums may differ in their last bits
    if len(moved) <= _EXACT:
        bits = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))
        return float(np.mean(abs((1.0 - 2.0 * (bits & 1)) @ moved) >= observed))
    random = np.random.default_rng(_SEED)
    as_large = 0
    for draws in _blocks(len(moved)):
        width = -(-len(moved) // 8)
        coins = np.frombuffer(random.bytes(draws * width), np.uint8).reshape(draws, width)
        turned = np.unpackbits(coins, axis=1, count=len(moved)).astype(np.float64)
        as_large += int((abs(moved.sum() - 2 * (turned @ moved)) >= observed).sum())
    return (as_large + 1) / (RESAMPLES + 1)


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p-values of several comparisons with the same row, corrected for their number (Holm, 1979)."""
    corrected = list(ps)
    worst = 0.0
    for place, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        worst = max(worst, min(1.0, ps[i] * (len(ps) - place)))
        corrected[i] = worst
    return corrected


def _means(sums: Floats, columns: int) -> Floats:
    with np.errstate(invalid="ignore"):  # a draw without any of a column's requests
        means: Floats = sums[:, :columns] / sums[:, columns:]
    return means


def _draws(requests: int) -> Iterator[Floats]:
    random = np.random.default_rng(_SEED)
    for draws in _blocks(requests):
        drawn = random.integers(0, requests, (draws, requests), dtype=np.int32)
        drawn += (np.arange(draws, dtype=np.int32) * requests)[:, None]
        yield np.bincount(drawn.ravel(), minlength=draws * requests).reshape(draws, requests).astype(np.float64)


def _blocks(requests: int) -> Iterator[int]:
    size = max(1, _CELLS // requests)
    for first in range(0, RESAMPLES, size):
        yield min(size, RESAMPLES - first)
