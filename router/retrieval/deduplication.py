"""Near-duplicates: one tool that several providers offer, word for word, takes one place of an answer.

See docs/decisions/records.md for why only text decides.
"""

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from router.record import Kind, ToolRecord
from router.retrieval.retrievers import Ranking
from router.text import identifier_words

# A tool's id, its provider and its index in the array of groups.
Member = tuple[str, str | None, int]


def duplicate_key(record: ToolRecord) -> Hashable | None:
    """Return a key that duplicates share: name and description without case and punctuation, or name and parameters
    where there is no description.

    A skill is never the duplicate of a tool. None for a tool without a provider, and for one without description and
    parameters: these have no duplicates.
    """
    if record.provider is None:
        return None
    if record.kind is not Kind.TOOL:
        same = duplicate_key(replace(record, kind=Kind.TOOL))
        return None if same is None else (record.kind, same)
    name, description = tuple(identifier_words(record.name)), tuple(identifier_words(record.description))
    if description:
        return name, description
    parameters = tuple(sorted(parameter.path for parameter in record.parameters))
    return (name, parameters) if parameters else None


def duplicate_groups(records: Sequence[ToolRecord]) -> NDArray[np.int64]:
    """Return for each record the index of the first of its duplicates, its own where it has none; shape (n,)."""
    groups = np.arange(len(records), dtype=np.int64)
    members: dict[bytes, list[Member]] = {}
    names = [tuple(identifier_words(record.name)) for record in records]
    count = Counter(names)
    for index, record in enumerate(records):
        if count[names[index]] > 1 and (key := duplicate_key(record)) is not None:
            members.setdefault(_digest(key), []).append((record.tool_id, record.provider, index))
    for same_key in members.values():
        for index, first in pair_duplicates(same_key):
            groups[index] = first
    return groups


def _digest(key: Hashable) -> bytes:
    """Return 32 bytes for a key, which has all words of a description: too much to hold of a million tools."""
    return hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).digest()


def pair_duplicates(members: Iterable[Member]) -> Iterable[tuple[int, int]]:
    """Yield each index with the first index of its group, for tools of one key. Builds and overlays share this rule.

    A group has at most one tool of each provider: a provider that offers two tools in the same words means two, which
    differ in their schemas. A provider's n-th tool, in the order of ids, joins every other provider's n-th, because a
    fork copies both. Ids decide, not the order of arrival, so a tool that is registered late joins the group that a
    build would put it into.
    """
    seen: dict[str | None, int] = {}
    groups: dict[int, list[int]] = {}
    for _, provider, index in sorted(members, key=lambda member: (member[0], member[2])):
        seen[provider] = seen.get(provider, 0) + 1
        groups.setdefault(seen[provider], []).append(index)
    for group in groups.values():
        first = min(group)
        yield from ((index, first) for index in group)


def collapse(fused: Ranking, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mapping[int, tuple[int, ...]]]:
    """Return the rows of a ranking to keep, in order, and the duplicates that each kept tool stands for.

    `groups` are by ordinal, as `duplicate_groups` returns them. The best ranked duplicate is kept, which is the one of
    the provider that the request names, if it names one. The mapping is from a kept tool's ordinal to the ordinals
    listed under it, best first; it leaves out tools without a duplicate in the ranking.
    """
    row_groups = groups[fused.ordinals]
    order = np.argsort(row_groups, kind="stable")  # the best ranked of each group first, the others behind it
    repeats = row_groups[order[1:]] == row_groups[order[:-1]]
    is_kept = np.ones(len(fused), bool)
    is_kept[order[1:][repeats]] = False
    listed_under: dict[int, list[int]] = {}
    ordinals, best = fused.ordinals[order].tolist(), 0
    for row in np.flatnonzero(repeats).tolist():
        if not row or not repeats[row - 1]:
            best = ordinals[row]
        listed_under.setdefault(best, []).append(ordinals[row + 1])
    return np.flatnonzero(is_kept), {ordinal: tuple(others) for ordinal, others in listed_under.items()}
