"""Hold the pairs that an encoder learns from: a request, and a tool that it needs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from router.fingerprint import fingerprint


def is_held_out(positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether phrases, or requests, by their positions among a tool's, are held out: one in four."""
    marks: NDArray[np.bool_] = positions % 4 == 1
    return marks


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


def joined(parts: Iterable[TrainingPairs]) -> TrainingPairs:
    """Return the pairs of several catalogs as one; each keeps a group of its own."""
    tools: list[str] = []
    requests: list[str] = []
    owners, held_out, groups = [], [], []
    for number, part in enumerate(parts):
        owners.append(part.owners + len(tools))
        groups.append(np.full(len(part.tools), number, np.int64))
        held_out.append(part.held_out)
        tools.extend(part.tools)
        requests.extend(part.requests)
    return TrainingPairs(tools, requests, np.concatenate(owners), np.concatenate(held_out), np.concatenate(groups))
