"""Twins, one tool that several providers offer, take one place of an answer. Pure function."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from router.retrievers import Ranking


def collapse(fused: Ranking, twins: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mapping[int, tuple[int, ...]]]:
    """The rows of a ranking to keep, in order, and the twins that each kept tool stands for.

    `twins` holds for each ordinal the first ordinal of its twins (`pipeline.records.twins`). The best ranked of twins
    is kept: the one whose provider the request names, if it names one. The mapping is from a kept tool's ordinal to
    the ordinals listed under it, best first; tools without a twin in the ranking are not in it.
    """
    groups = twins[fused.ordinals]
    _, first = np.unique(groups, return_index=True)
    kept = np.sort(first)
    if len(kept) == len(fused):
        return kept, {}
    head = dict(zip(groups[kept].tolist(), fused.ordinals[kept].tolist(), strict=True))
    under: dict[int, tuple[int, ...]] = {}
    for row in np.setdiff1d(np.arange(len(fused)), kept).tolist():
        best = head[int(groups[row])]
        under[best] = (*under.get(best, ()), int(fused.ordinals[row]))
    return kept, under
