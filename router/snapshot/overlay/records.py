"""The tools of a snapshot and those registered over it, as one store."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.snapshot.facets import Facet, Facets
from router.snapshot.overlay.indexed_tool import IndexedTool
from router.snapshot.record_store import RecordStore, ToolEntry

# In the place of a tool that serves no longer: no filter and no name finds it.
_NONE = Facet("", "", None, (), {})


class OverlaidRecords:
    """Ordinals of the snapshot stay; those of registered tools, given in the order of their ids, follow. The snapshot's
    tools in `hidden` are not there."""

    def __init__(self, base: RecordStore, tools: Sequence[IndexedTool], hidden: Collection[int]) -> None:
        self._base = base
        self._tools = tools
        self._hidden = frozenset(hidden)
        self._ordinals = {tool.entry.record.tool_id: len(base) + place for place, tool in enumerate(tools)}

    def __len__(self) -> int:
        return len(self._base) + len(self._tools)

    @property
    def registered(self) -> Mapping[str, IndexedTool]:
        """The registered tools, by id."""
        return {tool.entry.record.tool_id: tool for tool in self._tools}

    def entry(self, ordinal: int) -> ToolEntry:
        """The tool of an ordinal, 0 ≤ ordinal < len."""
        own = ordinal - len(self._base)
        return self._base.entry(ordinal) if own < 0 else self._tools[own].entry

    def tool_id(self, ordinal: int) -> str:
        """The id of an ordinal."""
        own = ordinal - len(self._base)
        return self._base.tool_id(ordinal) if own < 0 else self._tools[own].entry.record.tool_id

    def ordinal(self, tool_id: str) -> int | None:
        """The ordinal of an id; None where no such tool serves."""
        if (own := self._ordinals.get(tool_id)) is not None:
            return own
        held = self._base.ordinal(tool_id)
        return None if held in self._hidden else held

    def by_id(self) -> NDArray[np.int64]:
        """The ordinals of the tools that serve, in the order of their ids."""
        return self._by_id

    @cached_property
    def _by_id(self) -> NDArray[np.int64]:
        places = [self._base.place(tool_id) for tool_id in self._ordinals]
        every = np.insert(np.arange(len(self._base)), places, list(self._ordinals.values()))
        return every[~np.isin(every, list(self._hidden))] if self._hidden else every

    @cached_property
    def facets(self) -> Facets:
        """What filters look at, by ordinal."""
        rows = list(self._base.facets.rows)
        for ordinal in self._hidden:
            rows[ordinal] = _NONE
        return Facets((*rows, *(_facet(tool.entry.record) for tool in self._tools)))


def _facet(record: ToolRecord) -> Facet:
    return Facet(record.tool_id, record.name, record.provider, record.categories, dict(record.annotations))
