"""Whether any tool fits: cues of a request to a calibrated probability, and a threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from router.errors import SnapshotInvalid


@dataclass(frozen=True)
class Calibration:
    """Cues to the probability that some tool fits, where as many requests have a fitting tool as have none.

    `threshold` is the probability below which none is said to fit: it keeps all but `max_refused_share` of the
    answerable requests. `source` says on what that was settled: the catalog's "judgements", its "phrases", or requests
    "elsewhere", on other catalogs. `evidence` is what was measured; see pipeline/tuning/calibration.py.
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    max_refused_share: float
    source: str
    evidence: Mapping[str, float] = field(default_factory=dict)

    def probability(self, cues: Mapping[str, float]) -> float | None:
        """A number between 0 and 1; None where a cue that it needs is missing, for a recipe that makes fewer lists."""
        if not self.weights.keys() <= cues.keys():
            return None
        score = self.intercept + math.fsum(weight * cues[cue] for cue, weight in self.weights.items())
        # tanh does not overflow where exp does.
        return 0.5 + 0.5 * math.tanh(score / 2)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; `from_json` gives the calibration back."""
        return {**asdict(self), "weights": {str(cue): weight for cue, weight in self.weights.items()}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Calibration":
        """A calibration from a manifest. Raises SnapshotInvalid where a field is missing or is no number."""
        try:
            numbers = {name: float(row[name]) for name in ("intercept", "threshold", "max_refused_share")}
            weights, evidence = (_numbers(row[name]) for name in ("weights", "evidence"))
            unknown = set(row) - {f.name for f in fields(cls)}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SnapshotInvalid(f"the manifest's calibration lacks or misstates a field: {error!r}") from error
        if unknown:
            raise SnapshotInvalid(f"the manifest's calibration has an unknown field {sorted(unknown)[0]!r}")
        return cls(weights, source=str(row["source"]), evidence=evidence, **numbers)


def fitting(calibrations: Sequence[Calibration], cues: Mapping[str, float]) -> tuple[float, bool] | None:
    """The probability that some tool fits, and whether any does, by the first calibration that the cues suffice for.

    None where they suffice for none of them.
    """
    for calibration in calibrations:
        probability = calibration.probability(cues)
        if probability is not None:
            return probability, probability >= calibration.threshold
    return None


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in row.items()}
