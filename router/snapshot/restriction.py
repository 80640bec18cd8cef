"""A snapshot restricted to some of its tools: to its readers, the others do not exist.

See docs/decisions/filters.md.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.contract import Manifest
from router.record import ToolRecord
from router.retrieval.retrievers import Admitted
from router.snapshot.facets import NO_TOOL, Facets
from router.snapshot.record_store import ToolEntries, ToolEntry
from router.snapshot.snapshot import Snapshot

Mask = NDArray[np.bool_]
_MAX_RESTRICTIONS = 256  # of one snapshot, of some ten bytes for each tool


def restrict(snapshot: Snapshot, key: str, tools: Callable[[], Mask]) -> Snapshot:
    """Return a snapshot with only the tools of a mask, bool by ordinal. Ordinals stay, and files are shared.

    It is made once for each `key`; `tools` is called only then. Statistics of the lists, such as how common a word is,
    remain those of the whole catalog. The manifest keeps nothing that counts or quotes other tools.
    """
    restricted = snapshot.restrictions.get(key)
    if restricted is None:
        restricted = _restricted(snapshot, tools())
        if len(snapshot.restrictions) >= _MAX_RESTRICTIONS:
            snapshot.restrictions.clear()
        snapshot.restrictions[key] = restricted
    return restricted


def _restricted(snapshot: Snapshot, tools: Mask) -> Snapshot:
    mask = tools if snapshot.served is None else tools & snapshot.served.mask
    records = RestrictedRecords(snapshot.records, mask)
    manifest = _manifest(snapshot.manifest, len(records.by_id()))
    return replace(snapshot, records=records, served=Admitted(mask), manifest=manifest)


def _manifest(whole: Manifest, tools: int) -> Manifest:
    return replace(
        whole,
        counts={"tools": tools},
        generators={},
        evaluation=None,
        held=(),
        quarantined=(),
        degraded=(),
        stale_sources=(),
        stale_expansions=0,
        agreement=None,
    )


class RestrictedRecords:
    """The tools of a mask, as `ToolEntries`. Reading another one raises LookupError: no path may come to it."""

    def __init__(self, records: ToolEntries, mask: Mask) -> None:
        self._records = records
        self._mask = mask

    def __len__(self) -> int:
        return len(self._records)

    def entry(self, ordinal: int) -> ToolEntry:
        """Return the tool of an ordinal."""
        return self._records.entry(self._checked(ordinal))

    def complete_record(self, ordinal: int) -> ToolRecord:
        """Return the record of an ordinal with what stands beside it."""
        return self._records.complete_record(self._checked(ordinal))

    def tool_id(self, ordinal: int) -> str:
        """Return the id of an ordinal."""
        return self._records.tool_id(self._checked(ordinal))

    def _checked(self, ordinal: int) -> int:
        if not self._mask[ordinal]:
            raise LookupError(f"the tool at {ordinal} is outside of this restriction")
        return ordinal

    def ordinal(self, tool_id: str) -> int | None:
        """Return the ordinal of an id; None where no such tool is served."""
        ordinal = self._records.ordinal(tool_id)
        return ordinal if ordinal is not None and self._mask[ordinal] else None

    def by_id(self) -> NDArray[np.int64]:
        """Return the ordinals of the served tools, sorted by their ids."""
        return self._by_id

    @cached_property
    def _by_id(self) -> NDArray[np.int64]:
        ordinals = self._records.by_id()
        restricted: NDArray[Any] = ordinals[self._mask[ordinals]]
        return restricted

    @cached_property
    def facets(self) -> Facets:
        """Return what filters compare, by ordinal."""
        rows = self._records.facets.rows
        return Facets(tuple(row if seen else NO_TOOL for row, seen in zip(rows, self._mask.tolist(), strict=True)))
