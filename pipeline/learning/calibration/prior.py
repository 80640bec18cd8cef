"""Priors for abstention, fitted on other catalogs: how much each cue says. The catalog itself gives the scale."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.calibration.cohort import Asked
from router.contract import Signal
from router.retrieval.features import BEST_BM25, MEAN_COSINE
from router.retrieval.score_normalization import TASK_WORDING, BackgroundScores

Table = NDArray[np.float64]  # (requests, cues)

# Of the background, the share that fits the catalog best is left out: the catalog may well have a tool for it.
TRIMMED = 0.15


@dataclass(frozen=True)
class Prior:
    """Weights of standardised cues, and `least`: for each of SHARES, the score that so many of the answerable requests
    fall below in the catalog where it is lowest. A threshold there is one that every catalog can bear.
    """

    weights: Mapping[str, float]
    intercept: float
    least: tuple[float, ...]

    @property
    def cues(self) -> tuple[str, ...]:
        """The names of the cues, in the order of the columns of a table."""
        return tuple(self.weights)

    def scores(self, standardised: Table) -> NDArray[np.float64]:
        """(requests,) of cues that a Scale has standardised."""
        scores: NDArray[np.float64] = standardised @ np.array(list(self.weights.values())) + self.intercept
        return scores

    def least_at(self, share: float) -> float:
        """The threshold for a share of refused requests, between those of SHARES."""
        return float(np.interp(share, SHARES, self.least))


@dataclass(frozen=True)
class Scale:
    """Where the background's cues lie in a catalog: `centre` and `deviation` (cues,) of the requests `kept`
    (requests,), those that the catalog most likely has no tool for.
    """

    centre: NDArray[np.float64]
    deviation: NDArray[np.float64]
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, background: Table) -> "Scale":
        """The scale of a background's cues."""
        whole = (background - background.mean(axis=0)) / np.maximum(background.std(axis=0), 1e-9)
        fit = whole.sum(axis=1)
        kept = fit <= np.quantile(fit, 1 - TRIMMED)
        return cls(background[kept].mean(axis=0), background[kept].std(axis=0), kept)

    def standardise(self, table: Table) -> Table:
        """Cues in deviations of the background."""
        return (table - self.centre) / self.deviation


def tabulate(cohort: BackgroundScores, asked: Sequence[Asked], cues: Sequence[str]) -> Table:
    """(requests, cues): the cues of requests, where every request has them."""
    rows = ({**one.evidence, **cohort.features(one.rankings, one.terms, one.vector)} for one in asked)
    return np.array([[row[cue] for cue in cues] for row in rows]).reshape(len(asked), len(cues))


def choose(taught: Sequence[Prior], cohort: BackgroundScores) -> Iterator[Prior]:
    """Of the priors whose cues a cohort and its lists give, the first with dense and the first without."""
    known = {*cohort.statistics, *([TASK_WORDING] if cohort.task_direction is not None else [])}
    known |= {MEAN_COSINE} if Signal.DENSE in known else set()
    known |= {BEST_BM25} if known & {Signal.DESCRIPTION, Signal.EXPANSION} else set()
    able = [prior for prior in taught if known.issuperset(prior.cues)]
    for dense in (True, False):
        yield from [prior for prior in able if (Signal.DENSE in prior.cues) is dense][:1]


# Fitted by `python -m benchmarks.no_tool` on public requests and benchmarks, never on MetaTool or the demo, by
# which they are judged: benchmarks/results/no_tool.json. Margins and the agreement of lists carry over worst of
# the cues that were tried: they serve as the guard of a clear leader (router/retrieval/features.py).
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
