"""How likely a tool is looked at by its rank, estimated from the log itself.

    examined(rank) = rank ** -bias

A tool may be called more often at the first rank because it is the first, and not because it fits. The two are told
apart by tools that were offered for the same words at different ranks, as after a build: of those calls only the ranks
are compared, so that how well the tool fits cancels out (intervention harvesting, with the likelihood of a conditional
logit). With no such pair the bias is the one that is assumed: between none and 1 / rank.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pipeline.feedback import Answer
from pipeline.feedback.storage import normal_words
from router.feedback import Outcome

_ASSUMED = 1.0
_DEVIATION = 0.25  # of the prior
_CANDIDATES = np.linspace(0, 2, 41)
_SUCCESS = (Outcome.CALLED, Outcome.SUCCEEDED)


@dataclass(frozen=True, slots=True)
class Examination:
    """`bias` is 0 where every rank is looked at alike; `pairs` of words and tool at different ranks have told it."""

    bias: float = _ASSUMED
    pairs: int = 0

    def at(self, rank: int) -> float:
        """Return how likely a tool at a rank, from 1 on, is looked at."""
        return float(rank**-self.bias)


def estimate_examination(answers: Iterable[Answer]) -> Examination:
    """Return the bias that explains best at which of its ranks a tool was called for the same words."""
    shown = sorted(
        (normal_words(answer.request), tool, rank, answer.outcomes.get(tool) in _SUCCESS)
        for answer in answers
        if answer.request is not None
        for rank, tool in enumerate(answer.tools, 1)
    )
    likelihood, pairs = -((_CANDIDATES - _ASSUMED) ** 2) / (2 * _DEVIATION**2), 0
    for _, group in groupby(shown, key=lambda one: one[:2]):
        rows = list(group)
        ranks, called = np.log([row[2] for row in rows]), np.array([row[3] for row in rows])
        if called.any() and ranks.min() < ranks.max():
            pairs += 1
            at_ranks = -_CANDIDATES[:, None] * ranks
            all_ranks = np.log(np.exp(at_ranks).sum(axis=1))
            likelihood = likelihood + at_ranks[:, called].sum(axis=1) - called.sum() * all_ranks
    return Examination(float(_CANDIDATES[int(np.argmax(likelihood))]), pairs)
