"""Records as a snapshot keeps them: one JSON line a tool, read where they are asked for."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool as the snapshot keeps it: its record and its phrases, in the order of their vectors."""

    record: ToolRecord
    phrases: tuple[str, ...]


class RecordStore:
    """Records by ordinal: one JSON line each in a memory-mapped file, so that opening reads none of them."""

    def __init__(self, lines: Any, offsets: NDArray[np.int64]) -> None:
        self._lines = lines
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def row(self, ordinal: int) -> dict[str, Any]:
        """The stored line as a dict: record and phrases."""
        line: dict[str, Any] = json.loads(bytes(self._lines[self._offsets[ordinal] : self._offsets[ordinal + 1]]))
        return line

    def entry(self, ordinal: int) -> Entry:
        """The tool of an ordinal, 0 ≤ ordinal < len."""
        row = self.row(ordinal)
        return Entry(ToolRecord.from_json(row["record"]), tuple(row["phrases"]))

    def tool_id(self, ordinal: int) -> str:
        """The id of an ordinal."""
        return str(self.row(ordinal)["record"]["tool_id"])

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
