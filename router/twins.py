"""Twins, one tool that several providers offer, take one place of an answer. Pure functions."""

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.retrievers import Ranking
from router.text import words


def collapse(fused: Ranking, twins: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mapping[int, tuple[int, ...]]]:
    """The rows of a ranking to keep, in order, and the twins that each kept tool stands for.

    `twins` holds for each ordinal the first ordinal of its twins (`pipeline.records.twins`). The best ranked of twins
    is kept: the one whose provider the request names, if it names one. The mapping is from a kept tool's ordinal to
    the ordinals listed under it, best first; tools without a twin in the ranking are not in it.
    """
    groups = twins[fused.ordinals]
    order = np.argsort(groups, kind="stable")  # the best ranked of each group first, the others behind it
    repeats = groups[order[1:]] == groups[order[:-1]]
    kept = np.ones(len(fused), bool)
    kept[order[1:][repeats]] = False
    under: dict[int, list[int]] = {}
    ordinals, best = fused.ordinals[order].tolist(), 0
    for row in np.flatnonzero(repeats).tolist():
        if not row or not repeats[row - 1]:
            best = ordinals[row]
        under.setdefault(best, []).append(ordinals[row + 1])
    return np.flatnonzero(kept), {ordinal: tuple(others) for ordinal, others in under.items()}


def twin_key(record: ToolRecord) -> Hashable | None:
    """What twins have in common: name and description, or parameters where no description is; None for who has no twin.

    Twins are of different providers, one of each.
    """
    if record.provider is None:
        return None
    name, description = tuple(words(record.name)), tuple(words(record.description))
    if description:
        return name, description
    parameters = tuple(sorted(parameter.path for parameter in record.parameters))
    return (name, parameters) if parameters else None
