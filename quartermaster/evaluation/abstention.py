"""Score the probability that some tool fits: does it tell answerable requests from those that no tool answers?

`fits` are the probabilities, shape (requests,); `answerable` is true where a tool answers the request.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.resampling import percentiles, resampled

_KEPT = 0.95
_BINS = 10


@dataclass(frozen=True, slots=True)
class AreaDifference:
    """A difference of two AUCs over the same requests, with its 95 % interval and its two-sided p."""

    difference: float
    low: float
    high: float
    p: float

    def to_json(self) -> dict[str, Any]:
        """Return the difference as a JSON-ready dict."""
        return {"difference": self.difference, "interval": [self.low, self.high], "p": self.p}


def auc(fits: NDArray[np.float64], answerable: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve: how often an answerable request has the higher probability.

    A tie counts half. There must be at least one request of each sort.
    """
    return float(_wins(fits, answerable).mean())


def auc_interval(fits: NDArray[np.float64], answerable: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of `auc`; requests of both sorts are drawn together."""
    return _interval(_wins(fits, answerable), answerable)


def auc_difference(
    first: NDArray[np.float64], second: NDArray[np.float64], answerable: NDArray[np.bool_]
) -> AreaDifference:
    """Return by how much the AUC of the first probabilities is larger; both are of the same requests.

    The interval is a bootstrap that draws the same requests for both; p is that of `delong_p`.
    """
    gains = _wins(first, answerable) - _wins(second, answerable)
    return AreaDifference(float(gains.mean()), *_interval(gains, answerable), delong_p(first, second, answerable))


def delong_p(first: NDArray[np.float64], second: NDArray[np.float64], answerable: NDArray[np.bool_]) -> float:
    """Return the two-sided p of DeLong's test that two AUCs over the same requests are equal.

    DeLong, DeLong and Clarke-Pearson, Biometrics 1988. 1 where one sort has a single request.
    """
    gains = _wins(first, answerable) - _wins(second, answerable)
    if min(gains.shape) < 2:
        return 1.0
    mean = float(gains.mean())
    variance = sum(float(gains.mean(axis=1 - axis).var(ddof=1)) / gains.shape[axis] for axis in (0, 1))
    if variance <= 0:
        return 1.0 if mean == 0 else 0.0
    return 2 * NormalDist().cdf(-abs(mean) / math.sqrt(variance))


def _interval(wins: NDArray[np.float64], answerable: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean over pairs of requests, as `_wins` orders them."""

    def of_draws(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        positive, negative = counts[:, answerable], counts[:, ~answerable]
        with np.errstate(invalid="ignore"):  # a draw with one sort alone
            areas: NDArray[np.float64] = ((positive @ wins) * negative).sum(axis=1) / (
                positive.sum(axis=1) * negative.sum(axis=1)
            )
        return areas[:, None]

    low, high = percentiles(resampled(len(answerable), of_draws), 1)[0]
    return float(low), float(high)


def refused_at_95(fits: NDArray[np.float64], answerable: NDArray[np.bool_]) -> float:
    """Return the share of unanswerable requests below the threshold that keeps 95 % of the answerable ones."""
    descending = np.sort(fits[answerable])[::-1]
    threshold = descending[math.ceil(_KEPT * len(descending)) - 1]
    return float((fits[~answerable] < threshold).mean())


def reliability(fits: NDArray[np.float64], answerable: NDArray[np.bool_]) -> dict[str, Any]:
    """Return as JSON a reliability diagram in bins of a tenth, the Brier score and the expected calibration error.

    A bin has `from`, `to`, `requests`, the mean probability `said`, the share `answerable` and its 95 % interval
    (Wilson, 1927); empty bins are left out. Of both scores 0 is best. The calibration error is the distance between
    said and answerable, averaged over requests (Naeini et al., AAAI 2015).
    """
    bin_of = np.minimum((fits * _BINS).astype(int), _BINS - 1)
    bins: list[dict[str, Any]] = []
    for number in np.unique(bin_of):
        of_bin = bin_of == number
        said, share = float(fits[of_bin].mean()), float(answerable[of_bin].mean())
        bins.append(
            {
                "from": int(number) / _BINS,
                "to": (int(number) + 1) / _BINS,
                "requests": int(of_bin.sum()),
                "said": said,
                "answerable": share,
                "interval": _wilson(share, int(of_bin.sum())),
            }
        )
    error = math.fsum(b["requests"] * abs(b["said"] - b["answerable"]) for b in bins) / len(fits)
    return {"bins": bins, "brier": float(np.mean((fits - answerable) ** 2)), "error": error}


def _wins(fits: NDArray[np.float64], answerable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return 1, ½ or 0 for each pair of an answerable request (row) and an unanswerable one (column)."""
    margins = fits[answerable][:, None] - fits[~answerable][None, :]
    wins: NDArray[np.float64] = (np.sign(margins) + 1) / 2
    return wins


def _wilson(share: float, requests: int, z: float = 1.96) -> Sequence[float]:
    """Return the Wilson score interval of a share."""
    centre = share + z * z / (2 * requests)
    spread = z * math.sqrt(share * (1 - share) / requests + z * z / (4 * requests**2))
    scale = 1 + z * z / requests
    return [max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)]
