"""Near-duplicates: one tool that several providers offer, word for word. They take one place of an answer.

Forks of a server make them by the hundred: of 9,974 public MCP tools 3,389 are duplicates, of 1,127 tools; ten answers
to a phrase held 7.6 different tools. Text alone decides: where names are equal and descriptions differ, document
vectors would add 15 pairs at cosine .97, and wrong ones just below.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.retrieval.retrievers import Ranking
from router.text import identifier_words

# A tool's id, its provider and its place in the array of groups.
Member = tuple[str, str | None, int]


def duplicate_key(record: ToolRecord) -> Hashable | None:
    """Return what duplicates have in common: name and description, case and punctuation apart, or name and parameters
    where no description is; None for a tool that has no duplicates, for lack of a provider or of any text."""
    if record.provider is None:
        return None
    name, description = tuple(identifier_words(record.name)), tuple(identifier_words(record.description))
    if description:
        return name, description
    parameters = tuple(sorted(parameter.path for parameter in record.parameters))
    return (name, parameters) if parameters else None


def duplicates(records: Sequence[ToolRecord]) -> NDArray[np.int64]:
    """Return for each record the place of the first of its duplicates, its own where it has none; shape (n,)."""
    groups = np.arange(len(records), dtype=np.int64)
    members: dict[Hashable, list[Member]] = {}
    for place, record in enumerate(records):
        if (key := duplicate_key(record)) is not None:
            members.setdefault(key, []).append((record.tool_id, record.provider, place))
    for of_key in members.values():
        for place, first in paired(of_key):
            groups[place] = first
    return groups


def paired(members: Iterable[Member]) -> Iterable[tuple[int, int]]:
    """Yield each place with the first place of its group, for tools of one key; the only rule, for builds and at run
    time.

    A group has at most one tool of a provider: whoever offers two tools in the same words means two, which differ in
    their schemas. A provider's n-th tool, in the order of ids, goes with every other provider's n-th: a fork copies
    both, and left alone its second would stand in an answer twice. Ids decide and not the order of arrival, so that a
    tool that is registered late joins the group that a build would put it into.
    """
    seen: dict[str | None, int] = {}
    groups: dict[int, list[int]] = {}
    for _, provider, place in sorted(members, key=lambda member: (member[0], member[2])):
        seen[provider] = seen.get(provider, 0) + 1
        groups.setdefault(seen[provider], []).append(place)
    for group in groups.values():
        first = min(group)
        yield from ((place, first) for place in group)


def collapse(fused: Ranking, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mapping[int, tuple[int, ...]]]:
    """Return the rows of a ranking to keep, in order, and the duplicates that each kept tool stands for.

    `groups` are by ordinal, as `duplicates` returns them. The best ranked of duplicates is kept: the one whose provider
    the request names, if it names one. The mapping is from a kept tool's ordinal to the ordinals listed under it, best
    first; tools without a duplicate in the ranking are not in it.
    """
    of_rows = groups[fused.ordinals]
    order = np.argsort(of_rows, kind="stable")  # the best ranked of each group first, the others behind it
    repeats = of_rows[order[1:]] == of_rows[order[:-1]]
    kept = np.ones(len(fused), bool)
    kept[order[1:][repeats]] = False
    under: dict[int, list[int]] = {}
    ordinals, best = fused.ordinals[order].tolist(), 0
    for row in np.flatnonzero(repeats).tolist():
        if not row or not repeats[row - 1]:
            best = ordinals[row]
        under.setdefault(best, []).append(ordinals[row + 1])
    return np.flatnonzero(kept), {ordinal: tuple(others) for ordinal, others in under.items()}
