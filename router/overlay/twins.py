"""Which tools of a snapshot, and of those registered over it, are one tool that several providers offer."""

from collections.abc import Collection, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.overlay.prepared import Prepared, Providers
from router.record import ToolRecord
from router.snapshot import Snapshot
from router.text import terms, words
from router.twins import twin_key

# The snapshot's tools of like names that are looked at. Of 9,998 public MCP tools at most 23 have one name, and in each
# of 142 groups of twins another was found.
_ALIKE = 64


def alike(base: Snapshot, record: ToolRecord) -> Providers:
    """The snapshot's tools with the name and the description of a tool, by ordinal, with their providers."""
    names, key = base.lexical.get(Signal.NAME), twin_key(record)
    if names is None or key is None:
        return {}
    near = names.rank(terms(record.name), min(_ALIKE, len(base.records))).ordinals.tolist()
    found = {ordinal: base.records.entry(ordinal).record for ordinal in near}
    own = words(record.name)
    return {at: other.provider for at, other in found.items() if words(other.name) == own and twin_key(other) == key}


def twins(base: Snapshot, tools: Sequence[Prepared], hidden: Collection[int]) -> NDArray[np.int64] | None:
    """As `pipeline.records.twins`, of both: for each ordinal the first of its twins, in the order of ordinals; None
    where no tool has one. A provider's second tool of one name and description has none."""
    first = len(base.records)
    held = np.arange(first) if base.twins is None else base.twins
    own = np.arange(first, first + len(tools))
    groups: dict[Hashable, int] = {}
    providers: dict[Hashable, set[str | None]] = {}
    for place, tool in enumerate(tools):
        record = tool.entry.record
        key = twin_key(record)
        if key is None:
            continue
        if key not in groups:
            served = {at: provider for at, provider in tool.alike.items() if at not in hidden}
            groups[key] = int(held[min(served)]) if served else first + place
            providers[key] = set(served.values())
        if record.provider not in providers[key]:
            own[place] = groups[key]
            providers[key].add(record.provider)
    if base.twins is None and (own == np.arange(first, first + len(tools))).all():
        return None
    return np.concatenate([held, own])
