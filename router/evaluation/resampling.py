"""How far a mean is to be trusted: bootstrap intervals, paired randomisation tests. Same input, same output.

Percentile bootstrap over requests (Efron and Tibshirani, 1993), 95 %. Two-sided randomisation test by sign flips, for
retrieval: Smucker, Allan and Carterette, CIKM 2007. p of a sample counts the outcome itself (Phipson and Smyth, 2010).
Requests are taken for a sample of what people ask; the interval knows nothing of requests of another sort.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 10_000
_LEVEL = (2.5, 97.5)
_SEED = 1979  # of the bootstrap's first paper; any will do, as long as it stays
_EXACT = 13  # 2 ** 13 sign patterns are fewer than RESAMPLES: up to here all of them are tried
_CELLS = 2_000_000  # of a block of resamples: 16 MB


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over paired requests: its 95 % interval, the p of chance alone, who gained and who lost."""

    difference: float
    low: float | None
    high: float | None
    p: float
    better: int
    worse: int

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        interval = None if self.low is None else [self.low, self.high]
        return {
            "difference": self.difference,
            "interval": interval,
            "p": self.p,
            "better": self.better,
            "worse": self.worse,
        }


def intervals(table: Floats) -> list[tuple[float, float] | None]:
    """The 95 % interval of the mean of each column of a table (requests, columns); NaN is no value.

    All columns see the same resamples. None for a column with fewer than two values.
    """
    held = ~np.isnan(table)
    values = np.hstack([np.where(held, table, 0.0), held])
    columns = table.shape[1]
    found = resampled(len(table), lambda counts: _means(counts @ values, columns))
    few = held.sum(axis=0) < 2
    return [None if few[i] else (float(low), float(high)) for i, (low, high) in enumerate(percentiles(found, columns))]


def resampled(requests: int, statistic: Callable[[Floats], Floats]) -> Floats:
    """A statistic of each of RESAMPLES draws of `requests` with replacement.

    `statistic` takes how often each request was drawn, float64 of shape (draws, requests), and returns (draws, …).
    Returns (RESAMPLES, …); of no requests nothing.
    """
    return np.concatenate([statistic(counts) for counts in _draws(requests)]) if requests else np.empty((0, 0))


def percentiles(found: Floats, columns: int) -> Floats:
    """The bounds of 95 % of each column, shape (columns, 2); draws without a value are left out."""
    if not len(found):
        return np.full((columns, 2), np.nan)
    # Sorted, NaN stands last: nanpercentile would take each column apart.
    found = np.sort(found, axis=0)
    valid = (~np.isnan(found)).sum(axis=0)
    positions = np.array(_LEVEL)[:, None] / 100 * np.maximum(valid - 1, 0)
    below = np.floor(positions).astype(int)
    above = np.ceil(positions).astype(int)
    low, high = np.take_along_axis(found, below, 0), np.take_along_axis(found, above, 0)
    bounds: Floats = (low + (high - low) * (positions - below)).T
    return bounds


def differences(first: Floats, second: Floats) -> list[Difference | None]:
    """By column, how much better the first table is than the second; rows are the same requests in both.

    None for a column without a request that both have a value for.
    """
    apart = first - second
    found: list[Difference | None] = []
    for column, interval in zip(apart.T, intervals(apart), strict=True):
        paired = column[~np.isnan(column)]
        low, high = interval or (None, None)
        better, worse = int((paired > 0).sum()), int((paired < 0).sum())
        found.append(
            Difference(float(paired.mean()), low, high, chance(paired), better, worse) if len(paired) else None
        )
    return found


def chance(apart: Floats) -> float:
    """The two-sided p of a mean difference as large as this one, were each request's sign a matter of chance.

    `apart` are paired differences, shape (requests,).
    """
    moved = apart[apart != 0]  # a difference of 0 is 0 with either sign
    if not len(moved):
        return 1.0
    observed = abs(moved.sum()) - 1e-9  # equal sums differ in their last bits
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
    """p-values of several comparisons with one and the same, corrected for their number (Holm, 1979)."""
    corrected = list(ps)
    worst = 0.0
    for place, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        worst = max(worst, min(1.0, ps[i] * (len(ps) - place)))
        corrected[i] = worst
    return corrected


def _means(sums: Floats, columns: int) -> Floats:
    with np.errstate(invalid="ignore"):  # a draw that holds none of a column's requests
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
