"""Which tools of a snapshot, and of those registered over it, are one tool that several providers offer."""

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.record import ToolRecord
from router.retrieval.deduplication import Member, duplicate_key, paired
from router.snapshot.overlay.prepared import Prepared, Providers
from router.snapshot.snapshot import Snapshot
from router.text import identifier_words, terms

# The snapshot's tools of like names that are looked at. Of 9,998 public MCP tools at most 23 have one name, and in each
# of 142 groups of duplicates another was found.
_ALIKE = 64


def duplicates_above(base: Snapshot, record: ToolRecord) -> Providers:
    """Return the snapshot's tools with the name and the description of a tool, by ordinal, with their providers."""
    names, key = base.lexical.get(Signal.NAME), duplicate_key(record)
    if names is None or key is None:
        return {}
    near = names.rank(terms(record.name), min(_ALIKE, len(base.records))).ordinals.tolist()
    found = {ordinal: base.records.entry(ordinal).record for ordinal in near}
    own = identifier_words(record.name)
    return {
        at: other.provider
        for at, other in found.items()
        if identifier_words(other.name) == own and duplicate_key(other) == key
    }


def overlaid(
    base: Snapshot, tools: Sequence[Prepared], hidden: Collection[int], replaced: Iterable[int]
) -> NDArray[np.int64] | None:
    """Return the groups of `router.deduplication.duplicates` for the tools of both, by ordinal; None where no tool has
    a duplicate.

    Those of a registered tool's key, and of the key that a `replaced` tool of the snapshot had, are paired anew, as a
    build of them all would. Where a tool is only taken away, the others keep their groups until the next build.
    """
    first = len(base.records)
    own = np.arange(first, first + len(tools))
    groups = np.concatenate([np.arange(first) if base.duplicates is None else base.duplicates, own])
    members: dict[Hashable, dict[int, Member]] = {}
    for ordinal, tool in enumerate(tools, first):
        record = tool.entry.record
        key = duplicate_key(record)
        if key is None:
            continue
        of_key = members.setdefault(key, {})
        of_key[ordinal] = (record.tool_id, record.provider, ordinal)
        of_key |= _served(base, tool.duplicates, hidden)
    for at in replaced:
        before = base.records.entry(at).record
        if (key := duplicate_key(before)) is not None and key not in members:
            members[key] = _served(base, duplicates_above(base, before), hidden)
    for of_key in members.values():
        for ordinal, group in paired(of_key.values()):
            groups[ordinal] = group
    return None if base.duplicates is None and (groups == np.arange(len(groups))).all() else groups


def _served(base: Snapshot, providers: Providers, hidden: Collection[int]) -> dict[int, Member]:
    """Those of the snapshot's tools that still serve, by ordinal."""
    return {at: (base.records.tool_id(at), provider, at) for at, provider in providers.items() if at not in hidden}
