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
    kept: list[int] = []
    head: dict[int, int] = {}
    under: dict[int, list[int]] = {}
    for row, (ordinal, group) in enumerate(zip(fused.ordinals.tolist(), twins[fused.ordinals].tolist(), strict=True)):
        if group in head:
            under.setdefault(head[group], []).append(ordinal)
        else:
            head[group] = ordinal
            kept.append(row)
    return np.array(kept, np.int64), {best: tuple(others) for best, others in under.items()}
