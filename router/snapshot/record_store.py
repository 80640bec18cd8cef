"""The records of a snapshot: one JSON line for each tool, decoded when it is looked at.

Outputs, links, the operation and instructions stand beside the record in its line. No answer reads them: decoding a
hundred rows would take longer than the rest of the line.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.errors import SnapshotInvalid
from router.operation import Operation
from router.record import Kind, Link, Parameter, ToolRecord
from router.snapshot.facets import Facet, Facets


class ToolEntry(msgspec.Struct, frozen=True):
    """A tool in a snapshot: its record, and its phrases in the order of their vectors, first those `by_person`."""

    record: ToolRecord
    phrases: tuple[str, ...]
    by_person: int = 0


class _IdRecord(msgspec.Struct):
    tool_id: str


class _IdLine(msgspec.Struct):
    """A line of which only the id is decoded."""

    record: _IdRecord


class _FacetLine(msgspec.Struct):
    record: Facet


class _CompleteLine(msgspec.Struct):
    """A line with what answers do not need of a record, which stands beside it so that it is not decoded with it."""

    record: ToolRecord
    outputs: tuple[Parameter, ...] = ()
    links: tuple[Link, ...] = ()
    operation: Operation | None = None
    instructions: str = ""


# Decoding straight to the types takes a third of the time of json and constructors, and every answer reads ten lines.
_ENTRIES = msgspec.json.Decoder(ToolEntry)
_LINES = msgspec.json.Decoder(_IdLine)
_FACETS = msgspec.json.Decoder(_FacetLine)
_COMPLETE = msgspec.json.Decoder(_CompleteLine)
_BESIDE = ("outputs", "links", "operation", "instructions")


_Line = TypeVar("_Line")


class ToolEntries(Protocol):
    """The tools of a snapshot by ordinal, with or without an overlay."""

    def __len__(self) -> int:
        """Return the number of ordinals, which may include tools that are no longer served: see `by_id`."""
        ...

    def entry(self, ordinal: int) -> ToolEntry:
        """Return the tool of an ordinal, 0 ≤ ordinal < len. A snapshot's record is without what stands beside it."""
        ...

    def complete_record(self, ordinal: int) -> ToolRecord:
        """Return the record of an ordinal with what stands beside it."""
        ...

    def tool_id(self, ordinal: int) -> str:
        """Return the id of an ordinal."""
        ...

    def ordinal(self, tool_id: str) -> int | None:
        """Return the ordinal of an id; None where no such tool is served."""
        ...

    def by_id(self) -> NDArray[np.int64]:
        """Return the ordinals of the served tools, sorted by their ids."""
        ...

    @property
    def facets(self) -> Facets:
        """Return what filters compare, by ordinal."""
        ...


def compared_entry(entries: ToolEntries, ordinal: int) -> ToolEntry:
    """Return an entry with what tells a changed tool from an unchanged one: a skill's instructions too."""
    entry = entries.entry(ordinal)
    if entry.record.kind is not Kind.SKILL:
        return entry
    instructions = entries.complete_record(ordinal).instructions
    return msgspec.structs.replace(entry, record=replace(entry.record, instructions=instructions))


class RecordStore:
    """Records by ordinal, sorted by id: one JSON line each in a mapped file, so that opening reads none of them.

    `lines` are the bytes of the file, uint8. `offsets` say where each line begins, int64 (tools + 1,).
    """

    def __init__(self, lines: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._bytes = np.ascontiguousarray(lines).data  # a memoryview: a slice of it copies nothing
        self._offsets = offsets

    @classmethod
    def of(cls, entries: Iterable[ToolEntry]) -> "RecordStore":
        """Return a store in memory. The entries must be sorted by id."""
        lines = json_lines(entries)
        offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(lines), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def entry(self, ordinal: int) -> ToolEntry:
        """Return the tool of an ordinal, 0 ≤ ordinal < len, its record without what stands beside it."""
        return self._decoded(_ENTRIES, ordinal)

    def complete_record(self, ordinal: int) -> ToolRecord:
        """Return the record of an ordinal with what stands beside it."""
        line = self._decoded(_COMPLETE, ordinal)
        return replace(line.record, **{name: getattr(line, name) for name in _BESIDE})

    def tool_id(self, ordinal: int) -> str:
        """Return the id of an ordinal."""
        return self._decoded(_LINES, ordinal).record.tool_id

    @cached_property
    def facets(self) -> Facets:
        """Return what filters compare. The first call reads all tools, which takes 3 µs each."""
        return Facets(tuple(self._decoded(_FACETS, ordinal).record for ordinal in range(len(self))))

    def _decoded(self, decoder: "msgspec.json.Decoder[_Line]", ordinal: int) -> _Line:
        """Return a line as an object. Raises SnapshotInvalid where it is none: opening decodes no line."""
        try:
            return decoder.decode(self._bytes[self._offsets.item(ordinal) : self._offsets.item(ordinal + 1)])
        except (ValueError, RecursionError) as error:
            raise SnapshotInvalid(f"the record {ordinal} of the snapshot is damaged: {error}") from error

    def ordinal(self, tool_id: str) -> int | None:
        """Return the ordinal of an id; None if unknown."""
        place = self.place(tool_id)
        return place if place < len(self) and self.tool_id(place) == tool_id else None

    def place(self, tool_id: str) -> int:
        """Return the first ordinal whose id is not less, by bisection."""
        return bisect_left(range(len(self)), tool_id, key=self.tool_id)

    def by_id(self) -> NDArray[np.int64]:
        """Return all ordinals, which are sorted by id already."""
        return np.arange(len(self))


def json_lines(entries: Iterable[ToolEntry]) -> list[bytes]:
    """Return the JSON lines of tools, as `RecordStore` reads them."""
    return [msgspec.json.encode(_row(entry)) + b"\n" for entry in entries]


def _row(entry: ToolEntry) -> dict[str, Any]:
    record = entry.record.to_json()
    beside = {name: record.pop(name) for name in _BESIDE if name in record}
    hand = {"by_person": entry.by_person} if entry.by_person else {}
    return {"record": record, "phrases": entry.phrases, **hand, **beside}


class RecordSequence(Sequence[ToolRecord]):
    """The records of the served tools, sorted by id. Each is decoded when it is looked at."""

    def __init__(self, store: ToolEntries) -> None:
        self._store = store
        self._ordinals = store.by_id()

    def places_of(self, provider: str) -> list[int]:
        """Return the places of a provider's tools, in order; case is ignored. No record is decoded."""
        places: list[int] = np.flatnonzero(self._store.facets.of_providers([provider])[self._ordinals]).tolist()
        return places

    def __len__(self) -> int:
        return len(self._ordinals)

    @overload
    def __getitem__(self, place: int) -> ToolRecord: ...
    @overload
    def __getitem__(self, place: slice) -> list[ToolRecord]: ...
    def __getitem__(self, place: int | slice) -> ToolRecord | list[ToolRecord]:
        ordinals = self._ordinals[place]
        if isinstance(ordinals, np.ndarray):
            return [self._store.entry(ordinal).record for ordinal in ordinals.tolist()]
        return self._store.entry(int(ordinals)).record
