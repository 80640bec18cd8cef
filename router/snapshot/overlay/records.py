"""The records of a snapshot and of the tools registered over it, as one `ToolEntries`."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.snapshot.facets import NO_TOOL, Facet, Facets
from router.snapshot.overlay.indexed_tool import IndexedTool
from router.snapshot.record_store import RecordStore, ToolEntry


class OverlaidRecords:
    """The snapshot's ordinals stay, and those of `tools`, sorted by id, follow. `hidden` ordinals are not served."""

    def __init__(self, base: RecordStore, tools: Sequence[IndexedTool], hidden: Collection[int]) -> None:
        self._base = base
        self._tools = tools
        self._hidden = frozenset(hidden)
        self._ordinals = {tool.entry.record.tool_id: len(base) + place for place, tool in enumerate(tools)}

    def __len__(self) -> int:
        return len(self._base) + len(self._tools)

    @property
    def registered(self) -> Mapping[str, IndexedTool]:
        """Return the registered tools by id."""
        return {tool.entry.record.tool_id: tool for tool in self._tools}

    def entry(self, ordinal: int) -> ToolEntry:
        """Return the tool of an ordinal, 0 ≤ ordinal < len."""
        place = ordinal - len(self._base)
        return self._base.entry(ordinal) if place < 0 else self._tools[place].entry

    def complete_record(self, ordinal: int) -> ToolRecord:
        """Return the record of an ordinal with what stands beside it."""
        place = ordinal - len(self._base)
        return self._base.complete_record(ordinal) if place < 0 else self._tools[place].entry.record

    def tool_id(self, ordinal: int) -> str:
        """Return the id of an ordinal."""
        place = ordinal - len(self._base)
        return self._base.tool_id(ordinal) if place < 0 else self._tools[place].entry.record.tool_id

    def ordinal(self, tool_id: str) -> int | None:
        """Return the ordinal of an id; None where no such tool is served."""
        if (registered := self._ordinals.get(tool_id)) is not None:
            return registered
        ordinal = self._base.ordinal(tool_id)
        return None if ordinal in self._hidden else ordinal

    def by_id(self) -> NDArray[np.int64]:
        """Return the ordinals of the served tools, sorted by their ids."""
        return self._by_id

    @cached_property
    def _by_id(self) -> NDArray[np.int64]:
        places = [self._base.place(tool_id) for tool_id in self._ordinals]
        ordinals = np.insert(np.arange(len(self._base)), places, list(self._ordinals.values()))
        return ordinals[~np.isin(ordinals, list(self._hidden))] if self._hidden else ordinals

    @cached_property
    def facets(self) -> Facets:
        """Return what filters compare, by ordinal."""
        rows = list(self._base.facets.rows)
        for ordinal in self._hidden:
            rows[ordinal] = NO_TOOL
        return Facets((*rows, *(Facet.of(tool.entry.record) for tool in self._tools)))
