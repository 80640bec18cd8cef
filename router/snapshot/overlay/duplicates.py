"""Find the duplicates among a snapshot's tools and those registered over it: one tool that several providers offer."""

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.record import ToolRecord
from router.retrieval.deduplication import Member, duplicate_key, pair_duplicates
from router.snapshot.overlay.indexed_tool import IndexedTool, ProvidersByOrdinal
from router.snapshot.snapshot import Snapshot
from router.text import identifier_words, terms

# The snapshot's tools with the most similar names that are compared. Of 9,998 public MCP tools at most 23 share a name,
# and in each of their 142 groups of duplicates another member was among these.
_SIMILAR_NAMES = 64


def duplicates_in_snapshot(base: Snapshot, record: ToolRecord) -> ProvidersByOrdinal:
    """Return the snapshot's tools with the same name and description as a tool: their providers by ordinal."""
    names, key = base.lexical.get(Signal.NAME), duplicate_key(record)
    if names is None or key is None:
        return {}
    similar = names.rank_terms(terms(record.name), min(_SIMILAR_NAMES, len(base.records))).ordinals.tolist()
    records = {ordinal: base.records.entry(ordinal).record for ordinal in similar}
    name = identifier_words(record.name)
    return {
        ordinal: other.provider
        for ordinal, other in records.items()
        if identifier_words(other.name) == name and duplicate_key(other) == key
    }


def merged_duplicate_groups(
    base: Snapshot, tools: Sequence[IndexedTool], hidden: Collection[int], replaced: Iterable[int]
) -> NDArray[np.int64] | None:
    """Return the duplicate groups of the snapshot's and the registered tools, int64 by ordinal; None if none has any.

    Groups are those of `router.retrieval.deduplication.duplicates`. The tools with the key of a registered tool, or the
    former key of a `replaced` tool of the snapshot, are grouped anew, as a build of all would group them. Where a tool
    is only removed, the others keep their groups until the next build.
    """
    first = len(base.records)
    registered = np.arange(first, first + len(tools))
    groups = np.concatenate([np.arange(first) if base.duplicates is None else base.duplicates, registered])
    members: dict[Hashable, dict[int, Member]] = {}
    for ordinal, tool in enumerate(tools, first):
        record = tool.entry.record
        key = duplicate_key(record)
        if key is None:
            continue
        members_of_key = members.setdefault(key, {})
        members_of_key[ordinal] = (record.tool_id, record.provider, ordinal)
        members_of_key |= _served(base, tool.duplicates, hidden)
    for ordinal in replaced:
        before = base.records.entry(ordinal).record
        if (key := duplicate_key(before)) is not None and key not in members:
            members[key] = _served(base, duplicates_in_snapshot(base, before), hidden)
    for members_of_key in members.values():
        for ordinal, group in pair_duplicates(members_of_key.values()):
            groups[ordinal] = group
    return None if base.duplicates is None and (groups == np.arange(len(groups))).all() else groups


def _served(base: Snapshot, providers: ProvidersByOrdinal, hidden: Collection[int]) -> dict[int, Member]:
    """Return those of the snapshot's tools that are still served, by ordinal."""
    return {
        ordinal: (base.records.tool_id(ordinal), provider, ordinal)
        for ordinal, provider in providers.items()
        if ordinal not in hidden
    }
