"""Score the probability that some tool fits: does it tell answerable requests from those that no tool answers?

`fits` are the probabilities, shape (requests,); `answerable` is true where a tool answers the request.
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.resampling import percentiles, resampled

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_KEPT = 0.95
_BINS = 10


def auc(fits: Floats, answerable: Mask) -> float:
    """Return the area under the ROC curve: how often an answerable request has the higher probability.

    A tie counts half. There must be at least one request of each sort.
    """
    return float(_wins(fits, answerable).mean())


def auc_interval(fits: Floats, answerable: Mask) -> list[float]:
    """Return the 95 % bootstrap interval of `auc`; requests of both sorts are drawn together."""
    return _interval(_wins(fits, answerable), answerable)


def auc_difference(first: Floats, second: Floats, answerable: Mask) -> dict[str, Any]:
    """Return as JSON by how much the AUC of the first probabilities is larger; both are of the same requests.

    The 95 % interval is a bootstrap that draws the same requests for both. p is two-sided, by the test of DeLong,
    DeLong and Clarke-Pearson (Biometrics 1988); it is 1 where one sort has a single request.
    """
    gains = _wins(first, answerable) - _wins(second, answerable)
    mean, p = float(gains.mean()), 1.0
    if min(gains.shape) >= 2:
        variance = sum(float(gains.mean(axis=1 - axis).var(ddof=1)) / gains.shape[axis] for axis in (0, 1))
        if variance > 0:
            p = 2 * NormalDist().cdf(-abs(mean) / math.sqrt(variance))
        elif mean:
            p = 0.0
    return {"difference": mean, "interval": _interval(gains, answerable), "p": p}


def _interval(wins: Floats, answerable: Mask) -> list[float]:
    """Return the 95 % bootstrap interval of the mean over pairs of requests, as `_wins` orders them."""

    def of_draws(counts: Floats) -> Floats:
        positive, negative = counts[:, answerable], counts[:, ~answerable]
        pairs = positive.sum(axis=1) * negative.sum(axis=1)
        with np.errstate(invalid="ignore"):  # a draw of only one sort
            areas: Floats = ((positive @ wins) * negative).sum(axis=1) / pairs
        return areas[:, None]

    bounds: list[float] = percentiles(resampled(len(answerable), of_draws), 1)[0].tolist()
    return bounds


def refused_at_95(fits: Floats, answerable: Mask) -> float:
    """Return the share of unanswerable requests below the threshold that keeps 95 % of the answerable ones."""
    descending = np.sort(fits[answerable])[::-1]
    threshold = descending[math.ceil(_KEPT * len(descending)) - 1]
    return float((fits[~answerable] < threshold).mean())


def reliability(fits: Floats, answerable: Mask) -> dict[str, Any]:
    """Return as JSON a reliability diagram in bins of a tenth, the Brier score and the expected calibration error.

    A bin has `from`, `to`, `requests`, the mean probability `said`, the share `answerable` and its 95 % interval
    (Wilson, 1927); empty bins are left out. Of both scores 0 is best. The calibration error is the distance between
    said and answerable, averaged over requests (Naeini et al., AAAI 2015).
    """
    bin_of = np.minimum((fits * _BINS).astype(int), _BINS - 1)
    bins: list[dict[str, Any]] = []
    for number in np.unique(bin_of).tolist():
        of_bin = bin_of == number
        requests, share = int(of_bin.sum()), float(answerable[of_bin].mean())
        bins.append(
            {
                "from": number / _BINS,
                "to": (number + 1) / _BINS,
                "requests": requests,
                "said": float(fits[of_bin].mean()),
                "answerable": share,
                "interval": _wilson(share, requests),
            }
        )
    error = math.fsum(b["requests"] * abs(b["said"] - b["answerable"]) for b in bins) / len(fits)
    return {"bins": bins, "brier": float(np.mean((fits - answerable) ** 2)), "error": error}


def _wins(fits: Floats, answerable: Mask) -> Floats:
    """Return 1, ½ or 0 for each pair of an answerable request (row) and an unanswerable one (column)."""
    margins = fits[answerable][:, None] - fits[~answerable][None, :]
    wins: Floats = (np.sign(margins) + 1) / 2
    return wins


def _wilson(share: float, requests: int, z: float = 1.96) -> list[float]:
    """Return the Wilson score interval of a share."""
    centre = share + z * z / (2 * requests)
    spread = z * math.sqrt(share * (1 - share) / requests + z * z / (4 * requests**2))
    scale = 1 + z * z / requests
    return [max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)]
