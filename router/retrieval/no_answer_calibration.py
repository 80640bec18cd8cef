"""No-answer calibration: turns a request's features into the probability that some tool fits."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from router.contract import Signal
from router.errors import SnapshotInvalid
from router.retrieval.features import BEST_BM25, DENSE_Z_SCORE

# What a calibration was fitted on: judged requests of the catalog, its phrases, or only other catalogs.
JUDGEMENTS, PHRASES, GENERIC = "judgements", "phrases", "generic"

# `fits` is calibrated for callers whose requests have a fitting tool nine times in ten. At any other share its log odds
# are off by the difference of the two shares' log odds.
BASE_RATE = 0.9
# With fewer tools, each is near to any request, and an agent can be given them all.
MIN_CALIBRATED_TOOLS = 20


@dataclass(frozen=True, slots=True)
class FitEstimate:
    """The estimated probability `fits` that some tool fits a request; `none_fits` where it is below the threshold.

    `calibrated` is False where the calibration is generic: fitted on other catalogs.
    """

    fits: float
    none_fits: bool
    calibrated: bool


@dataclass(frozen=True)
class Calibration:
    """A logistic model of the probability that some tool fits: a weight for each feature, and an intercept.

    Below the probability `threshold` no tool counts as fitting; it refuses at most `max_refused_share` of the
    answerable requests. `source` is JUDGEMENTS, PHRASES or GENERIC. `evidence` holds figures measured when it was
    fitted; see pipeline/learning/no_answer_calibration/fitting.py.
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    max_refused_share: float
    source: str
    evidence: Mapping[str, float] = field(default_factory=dict)

    @property
    def generic(self) -> bool:
        """Return whether it was fitted on other catalogs alone."""
        return self.source not in (JUDGEMENTS, PHRASES)

    def probability(self, features: Mapping[str, float]) -> float | None:
        """Return the probability that some tool fits; None where a feature that it weights is missing."""
        if not self.weights.keys() <= features.keys():
            return None
        score = self.intercept + math.fsum(weight * features[name] for name, weight in self.weights.items())
        # tanh does not overflow where exp does.
        return 0.5 + 0.5 * math.tanh(score / 2)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict; `from_json` gives the calibration back."""
        return {**asdict(self), "weights": {str(name): weight for name, weight in self.weights.items()}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Calibration":
        """Return a calibration from a manifest. Raises SnapshotInvalid where a field is missing or no number."""
        try:
            numbers = {name: float(row[name]) for name in ("intercept", "threshold", "max_refused_share")}
            weights, evidence = (_numbers(row[name]) for name in ("weights", "evidence"))
            unknown = set(row) - {f.name for f in fields(cls)}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SnapshotInvalid(f"the manifest's calibration lacks or misstates a field: {error!r}") from error
        if unknown:
            raise SnapshotInvalid(f"the manifest's calibration has an unknown field {sorted(unknown)[0]!r}")
        return cls(weights, source=str(row["source"]), evidence=evidence, **numbers)


def apply_calibrations(
    calibrations: Sequence[Calibration],
    features: Mapping[str, float],
    clear_leader: Callable[[], bool] = lambda: False,
) -> FitEstimate | None:
    """Return the estimate of the first calibration whose features are all there; None where there is no such one.

    A tool that leads clearly is never refused: its probability is at least the threshold. `clear_leader` tells whether
    one does; it is called only where the calibration would refuse.
    """
    for calibration in calibrations:
        probability = calibration.probability(features)
        if probability is None:
            continue
        if probability < calibration.threshold and clear_leader():
            probability = calibration.threshold
        return FitEstimate(probability, probability < calibration.threshold, not calibration.generic)
    return None


def generic_calibrations(signals: Collection[Signal], tools: int) -> tuple[Calibration, ...]:
    """Return calibrations for a catalog that no build has calibrated, such as tools in memory, best first.

    They read the lists of one request alone, no `BackgroundScores`. Empty for fewer than MIN_CALIBRATED_TOOLS tools,
    and for signals that no calibration reads.
    """
    if tools < MIN_CALIBRATED_TOOLS or not {Signal.DESCRIPTION, Signal.EXPANSION} & set(signals):
        return ()
    return tuple(c for c in _IN_MEMORY if DENSE_Z_SCORE not in c.weights or Signal.DENSE in signals)


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in row.items()}


# Fitted by `python -m benchmarks.no_tool`, like pipeline/learning/no_answer_calibration/prior.py, on builds with the
# lexicon's phrases. The thresholds refuse at most 1 % of the answerable requests of any folder.
_IN_MEMORY = (
    Calibration({DENSE_Z_SCORE: 1.76, BEST_BM25: 2.87}, -2.87, 0.154, 0.05, GENERIC),
    Calibration({BEST_BM25: 3.29}, -1.33, 0.21, 0.05, GENERIC),
)
