"""The plan of a training, and the batches that follow from it."""

from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.batches import BatchSize, epoch_batches
from pipeline.learning.encoder.pairs import TrainingPairs


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How an encoder is trained. See docs/decisions/0098 and 0106.

    `rank` is that of the deltas of its linear maps; 0 trains all weights. `rate` is the highest learning rate: it is
    warmed up over a tenth of the steps, and falls to 0. Training takes `epochs`, at most `most_steps` steps; it is
    checked `checks` times, and ends after `patience` checks without a gain. Texts are cut at `max_tokens`. The result
    lies a `share` of the way from the base to what was trained: 1 is all of it.
    """

    rank: int = 16
    rate: float = 1e-3
    size: BatchSize = field(default_factory=BatchSize)
    epochs: int = 3
    most_steps: int = 400
    checks: int = 6
    patience: int = 2
    max_tokens: int = 96
    share: float = 1.0
    seed: int = 0


def planned_batches(pairs: TrainingPairs, nearest: NDArray[np.int64], plan: TrainingPlan) -> list[NDArray[np.int64]]:
    """Return the batches of a training, in order: equal inputs give equal batches."""
    rng = np.random.default_rng(plan.seed)
    epochs = (epoch_batches(pairs, nearest, plan.size, rng) for _ in range(plan.epochs))
    return list(islice((batch for epoch in epochs for batch in epoch), plan.most_steps))
