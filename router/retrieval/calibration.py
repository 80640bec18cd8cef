"""No-answer calibration: from the cues of a request to the probability that some tool fits, and a verdict."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from router.contract import Signal
from router.errors import SnapshotInvalid
from router.retrieval.features import BEST_BM25, DENSE_Z_SCORE

# The sources of a calibration: judged requests of the catalog, its phrases, or other catalogs alone.
JUDGEMENTS, PHRASES, GENERIC = "judgements", "phrases", "generic"

# `fits` is calibrated for callers of whose requests nine in ten have a tool: a router is asked for what it can do. At
# any other share it is off by the difference of the log odds.
BASE_RATE = 0.9
# Of fewer tools each is near to whatever is said, and an agent can be given them all.
MIN_CALIBRATED_TOOLS = 20


@dataclass(frozen=True, slots=True)
class FitEstimate:
    """What a calibration says of one request: the probability that some tool fits, and whether it is too low.

    `calibrated` is False where the calibration is generic: fitted on other catalogs.
    """

    fits: float
    none_fits: bool
    calibrated: bool


@dataclass(frozen=True)
class Calibration:
    """The weights of cues, and an intercept: their logistic is the probability that some tool fits.

    `threshold` is the probability below which none is said to fit: it keeps all but `max_refused_share` of the
    answerable requests. `source` is JUDGEMENTS, PHRASES or GENERIC. `evidence` is what was measured; see
    pipeline/learning/calibration/fitting.py.
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    max_refused_share: float
    source: str
    evidence: Mapping[str, float] = field(default_factory=dict)

    @property
    def generic(self) -> bool:
        """Whether it was fitted on other catalogs alone."""
        return self.source not in (JUDGEMENTS, PHRASES)

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


def apply_calibrations(
    calibrations: Sequence[Calibration], cues: Mapping[str, float], leads: Callable[[], bool] = lambda: False
) -> FitEstimate | None:
    """Return the verdict of the first calibration whose cues are all there; None where there is none such.

    A tool that `leads` clearly is never refused: its probability is at least the threshold. That is asked only where
    the calibration would refuse.
    """
    for calibration in calibrations:
        probability = calibration.probability(cues)
        if probability is None:
            continue
        if probability < calibration.threshold and leads():
            probability = calibration.threshold
        return FitEstimate(probability, probability < calibration.threshold, not calibration.generic)
    return None


def generic_calibrations(signals: Collection[Signal], tools: int) -> tuple[Calibration, ...]:
    """Return calibrations for a catalog that no build has calibrated, such as tools in memory: best first.

    They need the lists of one request alone, no `Cohort`: give them to a `Snapshot` as its `calibrations`. Nothing for
    fewer than FEWEST_CALIBRATED tools, and for lists that no calibration reads.
    """
    if tools < MIN_CALIBRATED_TOOLS or not {Signal.DESCRIPTION, Signal.EXPANSION} & set(signals):
        return ()
    return tuple(c for c in _IN_MEMORY if DENSE_Z_SCORE not in c.weights or Signal.DENSE in signals)


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in row.items()}


# Fitted by `python -m benchmarks.no_tool`, as the priors of pipeline/learning/calibration/prior.py, on builds with the
# lexicon's phrases; the thresholds refuse no more than 1 % of the answerable requests of any of their folders.
_IN_MEMORY = (
    Calibration({DENSE_Z_SCORE: 1.76, BEST_BM25: 2.87}, -2.87, 0.154, 0.05, GENERIC),
    Calibration({BEST_BM25: 3.29}, -1.33, 0.21, 0.05, GENERIC),
)
