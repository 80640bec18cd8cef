"""What a training is given: pairs of a request and a tool that it needs, and a plan."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from router.fingerprint import fingerprint

_MOST_REQUESTS = 500  # that stop a training, and that judge it


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How an encoder is trained. See docs/decisions/encoder.md.

    `rank` is that of the low-rank deltas (LoRA) of its linear maps; 0 trains all weights. `rate` is the highest
    learning rate: it is warmed up over a tenth of the steps, and falls to 0. A batch has a request of each of
    `batch_size` tools. Training takes `epochs`, at most `most_steps` steps; it is checked `checks` times, and ends
    after `patience` checks without a gain. Texts are cut at `max_tokens`. The result lies a `share` of the way from the
    base to what was trained: 1 is all of it.
    """

    rank: int = 16
    rate: float = 1e-3
    batch_size: int = 64
    epochs: int = 3
    most_steps: int = 2_000
    checks: int = 12
    patience: int = 3
    max_tokens: int = 96
    share: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class TrainingPairs:
    """Requests with their tools, from one catalog or several.

    `tools` are the texts of the tools. Pair i is the text `requests[i]` and the ordinal `owners[i]`: a request of two
    tools makes two pairs. `held_out` masks the pairs that training never reads; `group` is the catalog of each tool,
    within which a request's tools are ranked.
    """

    tools: Sequence[str]
    requests: Sequence[str]
    owners: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    group: NDArray[np.int64]

    @cached_property
    def taught(self) -> NDArray[np.int64]:
        """The pairs to learn from, ascending."""
        return np.flatnonzero(~self.held_out)

    @cached_property
    def stopping(self) -> NDArray[np.int64]:
        """Every second held-out pair: these tell when to stop."""
        return _evenly(np.flatnonzero(self.held_out)[::2])

    @cached_property
    def judging(self) -> NDArray[np.int64]:
        """The other held-out pairs: these tell what was gained."""
        return _evenly(np.flatnonzero(self.held_out)[1::2])

    @cached_property
    def needed(self) -> dict[str, frozenset[int]]:
        """All tools of each request, by its text: none of them is a negative of it."""
        tools: dict[str, set[int]] = defaultdict(set)
        for request, owner in zip(self.requests, self.owners.tolist(), strict=True):
            tools[request].add(owner)
        return {request: frozenset(owners) for request, owners in tools.items()}

    @cached_property
    def content(self) -> str:
        """The hash of all that is learned from and measured on."""
        texts = [self.requests, self.owners.tolist(), np.flatnonzero(self.held_out).tolist(), self.group.tolist()]
        return fingerprint([list(self.tools), *map(list, texts)])


def _evenly(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most _MOST_REQUESTS of some rows, spread evenly."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_REQUESTS)).astype(np.int64)] if len(rows) else rows
