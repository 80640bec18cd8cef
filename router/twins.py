"""Twins, one tool that several providers offer word for word, take one place of an answer. Pure functions.

Forks of a server make twins by the hundred: of 9,974 public MCP tools 3,389 are twins, of 1,127 tools; ten answers to a
phrase held 7.6 different tools. Text alone decides: where names are equal and descriptions differ, document vectors
would add 15 pairs at cosine .97, and wrong ones just below.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.retrievers import Ranking
from router.text import words


def collapse(fused: Ranking, twins: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mapping[int, tuple[int, ...]]]:
    """The rows of a ranking to keep, in order, and the twins that each kept tool stands for.

    `twins` holds for each ordinal the first ordinal of its twins (`twins`). The best ranked of twins
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


def twins(records: Sequence[ToolRecord]) -> NDArray[np.int64]:
    """For each record the place of the first of its twins, itself where it has none; shape (n,).

    Twins have one name and one description, case and punctuation apart, and different providers. Nobody is a twin
    without a provider, nor without a description, unless the parameters, at least one, are the same.
    """
    first: dict[Hashable, int] = {}
    seen: dict[Hashable, int] = {}
    places = np.arange(len(records), dtype=np.int64)
    for place, record in enumerate(records):
        text = twin_key(record)
        if text is None:
            continue
        # The second of a provider's own pair is a twin of another provider's second.
        count = seen[text, record.provider] = seen.get((text, record.provider), 0) + 1
        places[place] = first.setdefault((text, count), place)
    return places


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
