"""Records as a snapshot keeps them: one JSON line a tool, read where they are asked for."""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool as the snapshot keeps it: its record and its phrases, in the order of their vectors."""

    record: ToolRecord
    phrases: tuple[str, ...]


class _Named(msgspec.Struct):
    tool_id: str


class _Line(msgspec.Struct):
    """Of a line the id alone: nothing else is made of it."""

    record: _Named


# Straight to the types: a third of the time that json and constructors take, and every answer reads ten.
_ENTRIES = msgspec.json.Decoder(Entry)
_LINES = msgspec.json.Decoder(_Line)


class RecordStore:
    """Records by ordinal: one JSON line each in a memory-mapped file, so that opening reads none of them.

    `lines` are the bytes of the file, `offsets`, of shape (tools + 1,), where each line begins.
    """

    def __init__(self, lines: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._lines = lines
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def entry(self, ordinal: int) -> Entry:
        """The tool of an ordinal, 0 ≤ ordinal < len."""
        return _ENTRIES.decode(self._line(ordinal))

    def tool_id(self, ordinal: int) -> str:
        """The id of an ordinal."""
        return _LINES.decode(self._line(ordinal)).record.tool_id

    def _line(self, ordinal: int) -> bytes:
        return self._lines[self._offsets[ordinal] : self._offsets[ordinal + 1]].tobytes()

    def ordinal(self, tool_id: str) -> int | None:
        """The ordinal of an id, by bisection: lines are sorted by id; None where there is no such tool."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.tool_id(middle) < tool_id:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.tool_id(low) == tool_id else None
