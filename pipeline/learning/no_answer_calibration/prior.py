"""Hold the priors for abstention, fitted on other catalogs; the catalog itself gives the scale of their cues."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.batch_ranking import RankedQuery
from router.contract import Signal
from router.retrieval.no_answer_calibration import ANY_CATALOG, BEST_BM25, MEAN_COSINE, REFUSAL_COST
from router.retrieval.score_normalization import TASK_WORDING, BackgroundScores

Table = NDArray[np.float64]  # (requests, cues)

# Share of the background queries left out, those that fit the catalog best: it may have a tool for them.
TRIMMED = 0.15


@dataclass(frozen=True)
class Prior:
    """Weights of standardised cues, and generic thresholds.

    `least` has for each of SHARES the score that this share of the answerable requests falls below, in the catalog
    where that score is lowest: a threshold there suits every catalog.
    """

    weights: Mapping[str, float]
    intercept: float
    least: tuple[float, ...]

    @property
    def cues(self) -> tuple[str, ...]:
        """The names of the cues, in the order of a table's columns."""
        return tuple(self.weights)

    @property
    def needs_vector(self) -> bool:
        """Whether a cue is of the request's vector."""
        return not {Signal.DENSE, TASK_WORDING}.isdisjoint(self.weights)

    def scores(self, standardised: Table) -> NDArray[np.float64]:
        """Return the scores (requests,) of cues that a CueScale has standardised."""
        scores: NDArray[np.float64] = standardised @ np.array(list(self.weights.values())) + self.intercept
        return scores

    def least_at(self, share: float) -> float:
        """Return the threshold for a share of refused requests, interpolated between those of SHARES."""
        return float(np.interp(share, SHARES, self.least))


@dataclass(frozen=True)
class CueScale:
    """The scale of the background queries' cues in a catalog: their `mean` and `std`, each (cues,).

    Both are of the queries where `kept` (requests,) is true: those that the catalog most likely has no tool for.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, background: Table, raw: NDArray[np.bool_] | None = None) -> "CueScale":
        """Return the scale of the cues of background queries; those that are `raw` (cues,) keep their own."""
        whole = (background - background.mean(axis=0)) / np.maximum(background.std(axis=0), 1e-9)
        fit = whole.sum(axis=1)
        kept = fit <= np.quantile(fit, 1 - TRIMMED)
        mean, std = background[kept].mean(axis=0), background[kept].std(axis=0)
        return cls(mean, std, kept) if raw is None else cls(np.where(raw, 0, mean), np.where(raw, 1, std), kept)

    def standardise(self, table: Table) -> Table:
        """Return the z-scores of cues among the background queries."""
        return (table - self.mean) / self.std


def cue_table(background: BackgroundScores, queries: Sequence[RankedQuery], cues: Sequence[str]) -> Table:
    """Return the cues of ranked queries, shape (requests, cues). Raises KeyError where a query lacks one."""
    rows = ({**q.evidence, **background.features(q.rankings, q.terms, q.vector)} for q in queries)
    return np.array([[row[cue] for cue in cues] for row in rows]).reshape(len(queries), len(cues))


def choose_priors(priors: Sequence[Prior], background: BackgroundScores) -> Iterator[Prior]:
    """Yield the first prior that needs a vector and the first that does not, of those whose cues a snapshot has."""
    known = {*background.statistics, *([TASK_WORDING] if background.task_direction is not None else [])}
    known |= {MEAN_COSINE} if Signal.DENSE in known else set()
    known |= {BEST_BM25} if known & {Signal.DESCRIPTION, Signal.EXPANSION} else set()
    usable = [prior for prior in priors if known.issuperset(prior.cues)]
    for needs_vector in (True, False):
        yield from [prior for prior in usable if prior.needs_vector is needs_vector][:1]


# Fitted by `python -m benchmarks.no_tool` on public requests and benchmarks, never on MetaTool or the demo, which judge
# them: benchmarks/results/no_tool.json. Margins and the agreement of lists carry over worst of the cues that were
# tried: they only guard a clear leader (router/retrieval/no_answer_calibration.py).
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
PRIORS = (
    Prior(
        {Signal.DENSE: 0.28, TASK_WORDING: 0.74, Signal.DESCRIPTION: 0.18, MEAN_COSINE: 0.23, BEST_BM25: 0.49},
        intercept=-0.46,
        least=(-0.78, -0.47, 0.06, 0.56, 1.31),
    ),
    Prior(
        {Signal.NAME: 0.27, Signal.DESCRIPTION: 0.15, Signal.EXPANSION: 0.2, BEST_BM25: 0.75},
        intercept=0.26,
        least=(-0.83, -0.83, -0.83, 0.54, 0.98),
    ),
    Prior(
        {Signal.NAME: 0.28, Signal.DESCRIPTION: 0.2, BEST_BM25: 0.79},
        intercept=0.29,
        least=(-0.69, -0.69, -0.69, -0.5, 1.04),
    ),
)
# For requests in other languages, fitted by `python -m benchmarks.no_tool_languages`: of all cues only the wording and
# the words in common carry over. See docs/decisions/abstention.md.
_GENERIC_SCORE = (-math.log(REFUSAL_COST),) * len(SHARES)
PRIORS_OF_OTHERS = (
    Prior({TASK_WORDING: 0.77, BEST_BM25: 1.73}, intercept=0.82, least=_GENERIC_SCORE),
    Prior(ANY_CATALOG.weights, ANY_CATALOG.intercept, least=_GENERIC_SCORE),
)
