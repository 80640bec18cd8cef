"""Records as a snapshot keeps them: one JSON line a tool, read where they are asked for."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.snapshot.facets import Facet, Facets


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool as the snapshot keeps it: its record and its phrases, in the order of their vectors."""

    record: ToolRecord
    phrases: tuple[str, ...]


class _Named(msgspec.Struct):
    tool_id: str


class _Line(msgspec.Struct):
    """Of a line the id alone: nothing else is made of it."""

    record: _Named


class _FacetLine(msgspec.Struct):
    record: Facet


# Straight to the types: a third of the time that json and constructors take, and every answer reads ten.
_ENTRIES = msgspec.json.Decoder(ToolEntry)
_LINES = msgspec.json.Decoder(_Line)
_FACETS = msgspec.json.Decoder(_FacetLine)


class ToolEntries(Protocol):
    """The tools of a catalog by ordinal, wherever they lie."""

    def __len__(self) -> int:
        """How many ordinals there are; some may be those of tools that serve no longer: see `by_id`."""
        ...

    def entry(self, ordinal: int) -> ToolEntry:
        """The tool of an ordinal, 0 ≤ ordinal < len."""
        ...

    def tool_id(self, ordinal: int) -> str:
        """The id of an ordinal."""
        ...

    def ordinal(self, tool_id: str) -> int | None:
        """The ordinal of an id; None where no such tool serves."""
        ...

    def by_id(self) -> NDArray[np.int64]:
        """The ordinals of the tools that serve, in the order of their ids."""
        ...

    @property
    def facets(self) -> Facets:
        """What filters look at, by ordinal."""
        ...


class RecordStore:
    """Records by ordinal: one JSON line each, of a file that is mapped, so that opening reads none of them.

    `lines` are the bytes of the file, `offsets`, of shape (tools + 1,), where each line begins.
    """

    def __init__(self, lines: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._lines = lines
        self._offsets = offsets

    @classmethod
    def of(cls, entries: Iterable[ToolEntry]) -> "RecordStore":
        """Return a store in memory, of tools sorted by id."""
        lines = json_lines(entries)
        offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(lines), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def entry(self, ordinal: int) -> ToolEntry:
        """The tool of an ordinal, 0 ≤ ordinal < len."""
        return _ENTRIES.decode(self._line(ordinal))

    def tool_id(self, ordinal: int) -> str:
        """The id of an ordinal."""
        return _LINES.decode(self._line(ordinal)).record.tool_id

    @cached_property
    def facets(self) -> Facets:
        """What filters look at, read of all tools when first asked for: 3 µs a tool."""
        return Facets(tuple(_FACETS.decode(self._line(ordinal)).record for ordinal in range(len(self))))

    def _line(self, ordinal: int) -> bytes:
        return self._lines[self._offsets[ordinal] : self._offsets[ordinal + 1]].tobytes()

    def ordinal(self, tool_id: str) -> int | None:
        """The ordinal of an id; None where there is no such tool."""
        place = self.place(tool_id)
        return place if place < len(self) and self.tool_id(place) == tool_id else None

    def place(self, tool_id: str) -> int:
        """The first ordinal whose id is no less, by bisection: lines are sorted by id."""
        return bisect_left(range(len(self)), tool_id, key=self.tool_id)

    def by_id(self) -> NDArray[np.int64]:
        """The ordinals in the order of their ids: all of them, rising."""
        return np.arange(len(self))


def json_lines(entries: Iterable[ToolEntry]) -> list[bytes]:
    """Return the JSON lines of tools, as `RecordStore` reads them."""
    rows = ({"record": entry.record.to_json(), "phrases": entry.phrases} for entry in entries)
    return [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]


class RecordSequence(Sequence[ToolRecord]):
    """The records of a snapshot, in the order of their ids: each read when it is looked at."""

    def __init__(self, store: ToolEntries) -> None:
        self._store = store
        self._ordinals = store.by_id()

    def __len__(self) -> int:
        return len(self._ordinals)

    @overload
    def __getitem__(self, place: int) -> ToolRecord: ...
    @overload
    def __getitem__(self, place: slice) -> list[ToolRecord]: ...
    def __getitem__(self, place: int | slice) -> ToolRecord | list[ToolRecord]:
        found = self._ordinals[place]
        if isinstance(found, np.ndarray):
            return [self._store.entry(ordinal).record for ordinal in found.tolist()]
        return self._store.entry(int(found)).record
