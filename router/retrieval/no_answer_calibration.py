"""No-answer calibration: turns a request's features into the probability that some tool fits."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import DenseRetriever, Ranking
from router.text import ENGLISH

# Names of features, as snapshots store them. `router.retrieval.score_normalization` has those of background queries.
MEAN_COSINE = "texts"  # mean cosine of the query with all texts, document and phrases, of the nearest tools
BEST_BM25 = "matched"  # log(1 + the best BM25 score, in units of the rarest possible word)
DENSE_Z_SCORE = "standing"  # the nearest tool's z-score over that expected by chance of the best of all tools

NEAREST = 3  # a tool that fits has neighbours that nearly fit; a single one may be near by chance
_DESCRIBING = (Signal.DESCRIPTION, Signal.EXPANSION)  # lexical lists of what a tool does, not of its name
# One in eight answerable requests of twelve catalogs has a clear leader, and one in fifty of those without a tool.
MAX_RUNNER_UP_SHARE = 0.5  # of the leader's fused score
MIN_AGREEING_SHARE = 0.75  # of the lists that hold any tool


def no_answer_features(
    rankings: Mapping[Signal, Ranking], dense: DenseRetriever | None, vector: NDArray[np.float32] | None, tools: int
) -> dict[str, float]:
    """Return the features of a request's lists in a catalog of `tools` tools; those whose list is missing are left out.

    `vector` is the one that the dense list was ranked by.
    """
    features: dict[str, float] = {}
    describing = [rankings[signal] for signal in _DESCRIBING if signal in rankings]
    if describing:
        best = max(float(ranking.scores[0]) if len(ranking) else 0.0 for ranking in describing)
        features[BEST_BM25] = scaled_bm25(best, tools)
    nearest = rankings.get(Signal.DENSE)
    if nearest is not None and len(nearest):
        features[DENSE_Z_SCORE] = float(nearest.standard()[0]) / math.sqrt(2 * math.log(max(tools, 2)))
        if dense is not None and vector is not None:
            features[MEAN_COSINE] = float(dense.mean_cosines(vector, nearest.ordinals[:NEAREST]).mean())
    return features


def scaled_bm25(score: float, tools: int) -> float:
    """Return BEST_BM25 of a BM25 score. It is divided by the weight of a word of no tool, which grows with `tools`."""
    return math.log1p(score / math.log(1 + (tools + 0.5) / 0.5))


def has_clear_leader(
    rankings: Mapping[Signal, Ranking], fused: Ranking, duplicates: NDArray[np.int64] | None = None
) -> bool:
    """Return whether the first tool of a fused ranking leads clearly.

    A clear leader has the top score of two lists or more, and of MIN_AGREEING_SHARE of the lists that hold any tool;
    the runner-up has at most MAX_RUNNER_UP_SHARE of its score in `fused`, which is fused by z-scores.
    `duplicates` holds for each ordinal the first ordinal of its duplicates, which do not count as runners-up.
    """
    if not len(fused) or fused.scores[0] <= 0:
        return False
    leader = int(fused.ordinals[0])
    lists = [ranking for ranking in rankings.values() if len(ranking)]
    agreeing = sum(_is_top(ranking, leader) for ranking in lists)
    if agreeing < max(2, MIN_AGREEING_SHARE * len(lists)):
        return False
    others = fused.ordinals != leader if duplicates is None else duplicates[fused.ordinals] != duplicates[leader]
    behind = fused.scores[others]
    return not len(behind) or bool(behind[0] <= MAX_RUNNER_UP_SHARE * fused.scores[0])


def _is_top(ranking: Ranking, ordinal: int) -> bool:
    """Return whether a tool has the list's best score, alone or tied."""
    rank = ranking.rank_of(ordinal)
    return rank is not None and bool(ranking.scores[rank - 1] >= ranking.scores[0])


# What a calibration was fitted on: judged requests of the catalog, its phrases, or only other catalogs.
JUDGEMENTS, PHRASES, GENERIC = "judgements", "phrases", "generic"

# `fits` is calibrated for callers whose requests have a fitting tool nine times in ten. At any other share its log odds
# are off by the difference of the two shares' log odds.
BASE_RATE = 0.9
# What refusing a request that a tool fits costs, in answers that no tool fits. A generic calibration refuses where that
# is the cheaper mistake.
REFUSAL_COST = 3
# With fewer tools, each is near to any request, and an agent can be given them all.
MIN_CALIBRATED_TOOLS = 20


class FitEstimate(msgspec.Struct, frozen=True):
    """The estimated probability `fits` that some tool fits a request; `none_fits` where it is below the threshold.

    `calibrated` is False where the calibration is generic: the catalog has none for requests in that language.
    """

    fits: float
    none_fits: bool
    calibrated: bool


class Calibration(msgspec.Struct, frozen=True):
    """A logistic model of the probability that some tool fits: a weight for each feature, and an intercept.

    Below the probability `threshold` no tool counts as fitting; it refuses at most `max_refused_share` of the
    answerable requests. `source` is JUDGEMENTS, PHRASES or GENERIC. `evidence` holds figures measured when it was
    fitted; see pipeline/learning/no_answer_calibration/fitting.py. `language` is the ISO 639-1 code of the requests
    that it is for, or OTHER_LANGUAGE for any but English.
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    max_refused_share: float
    source: str
    evidence: Mapping[str, float] = msgspec.field(default_factory=dict)
    language: str = ENGLISH

    @property
    def generic(self) -> bool:
        """Return whether it was fitted only on other catalogs."""
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
        return {**msgspec.structs.asdict(self), "weights": {str(name): weight for name, weight in self.weights.items()}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Calibration":
        """Return a calibration from a manifest. Raises SnapshotInvalid where a field is missing or no number."""
        if unknown := row.keys() - {*cls.__struct_fields__}:
            raise SnapshotInvalid(f"the manifest's calibration has an unknown field {sorted(unknown)[0]!r}")
        try:
            calibration = msgspec.convert(row, cls)
        except msgspec.ValidationError as error:
            raise SnapshotInvalid(f"the manifest's calibration lacks or misstates a field: {error}") from error
        numbers = (calibration.intercept, *calibration.weights.values(), *calibration.evidence.values())
        if not all(map(math.isfinite, numbers)):
            raise SnapshotInvalid("the manifest's calibration lacks or misstates a field: a number is not finite")
        return calibration


def apply_calibrations(
    calibrations: Sequence[Calibration],
    features: Mapping[str, float],
    clear_leader: Callable[[], bool] = lambda: False,
) -> FitEstimate | None:
    """Return the estimate of the first calibration whose features are all there; None without one.

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


def of_language(calibrations: Sequence[Calibration], language: str) -> list[Calibration]:
    """Return those for requests in a language, best first, then those for any language but English."""
    own = [one for one in calibrations if one.language == language]
    if language == ENGLISH:
        return own
    return own + [one for one in calibrations if one.language == OTHER_LANGUAGE] + [ANY_CATALOG]


def generic_calibrations(signals: Collection[Signal], tools: int) -> tuple[Calibration, ...]:
    """Return calibrations for a catalog that no build has calibrated, such as tools in memory, best first.

    They read only the lists of one request, and no `BackgroundScores`. Empty for fewer than MIN_CALIBRATED_TOOLS tools,
    and for signals that no calibration reads.
    """
    if tools < MIN_CALIBRATED_TOOLS or not {Signal.DESCRIPTION, Signal.EXPANSION} & set(signals):
        return ()
    return tuple(c for c in _IN_MEMORY if DENSE_Z_SCORE not in c.weights or Signal.DENSE in signals)


# Fitted by `python -m benchmarks.no_tool`, like pipeline/learning/no_answer_calibration/prior.py, on builds with
# a rule's phrases. The thresholds refuse at most 1 % of the answerable requests of any folder.
_IN_MEMORY = (
    Calibration({DENSE_Z_SCORE: 1.76, BEST_BM25: 2.87}, -2.87, 0.154, 0.05, GENERIC),
    Calibration({BEST_BM25: 3.29}, -1.33, 0.21, 0.05, GENERIC),
)

OTHER_LANGUAGE = ""
# Of a request in another language than English, in any catalog: by the words in common alone. Fitted by
# `python -m benchmarks.no_tool_languages`; see docs/decisions/abstention.md.
ANY_CATALOG = Calibration({BEST_BM25: 2.14}, 0.51, 1 / (1 + REFUSAL_COST), 0.05, GENERIC, language=OTHER_LANGUAGE)
