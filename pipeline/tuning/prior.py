"""What other catalogs teach of "no tool fits": how much each cue says. A catalog of its own gives the scale."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.tuning.cohort import Asked
from router.cohort import ERRAND, Cohort
from router.contract import Signal

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


def tabulate(cohort: Cohort, asked: Sequence[Asked], cues: Sequence[str]) -> Table:
    """(requests, cues): the cues of requests, where every request has them."""
    rows = (cohort.cues(one.rankings, one.terms, one.vector) for one in asked)
    return np.array([[row[cue] for cue in cues] for row in rows]).reshape(len(asked), len(cues))


def choose(taught: Sequence[Prior], cohort: Cohort) -> Iterator[Prior]:
    """Of the priors whose cues a cohort knows, the first with dense, where there is one, and the first without."""
    known = {*cohort.statistics, *([ERRAND] if cohort.errand is not None else [])}
    able = [prior for prior in taught if known.issuperset(prior.cues)]
    for dense in (True, False):
        yield from [prior for prior in able if (Signal.DENSE in prior.cues) is dense][:1]


# Fitted by `python -m tests.benchmarks.no_tool` on Azure MCP, UltraTool and ToolPicker with expansions, and on the
# first two, ToolRet-APIGen and BFCL without: never on MetaTool or the demo, by which they are judged. There, with the
# snapshot's own scale, AUC / refused where 95 % are kept: .928 / .69 and .683 / .25 (its 32 are near misses), without
# expansions .901 / .60 and .571 / .25, without an encoder .859 / .41 and .639 / .13; by the best phrase's cosine .847
# / .43 and .654 / .22. The expansion's list adds nothing beside dense, and cannot be asked for a phrase that it
# holds.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
PRIORS = (
    Prior(
        {Signal.DENSE: 1.55, ERRAND: 0.74, Signal.DESCRIPTION: 0.99},
        intercept=-4.97,
        least=(-5.15, -3.96, -2.39, -1.15, 0.23),
    ),
    Prior(
        {Signal.NAME: 0.48, Signal.DESCRIPTION: 0.75, Signal.EXPANSION: 1.78},
        intercept=-3.93,
        least=(-3.88, -3.07, -1.47, -0.75, 0.38),
    ),
    Prior(
        {Signal.NAME: 0.53, Signal.DESCRIPTION: 1.42},
        intercept=-2.7,
        least=(-3.85, -3.85, -3.85, -3.85, -0.05),
    ),
)
