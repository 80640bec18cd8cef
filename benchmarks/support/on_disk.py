"""Documents and records of a large catalog, read from disk one by one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from router import contract
from router.record import ToolRecord
from router.retrieval.arrays import load_array
from router.snapshot.record_store import RecordStore
from router.tools.field_text import FieldDocuments


class Spilled(Sequence[FieldDocuments]):
    """Field documents on disk, from which the indexes are made, a segment at a time."""

    def __init__(self, path: Path) -> None:
        self._lines = path.open("w+b")
        self._offsets = [0]

    def append(self, document: FieldDocuments) -> None:
        """Add one; to be done with before the first is read."""
        line = json.dumps([document.tool_id, document.name, document.description, document.expansion]).encode()
        self._offsets.append(self._offsets[-1] + self._lines.write(line + b"\n"))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __enter__(self) -> "Spilled":
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(f"there is no document {place} of {len(self)}")
        self._lines.seek(self._offsets[place])
        tool_id, name, description, expansion = json.loads(self._lines.readline())
        return FieldDocuments(tool_id, name, description, expansion, dense="", phrases=())


class Records(Sequence[ToolRecord]):
    """The records of a snapshot under construction, read again for their twins."""

    def __init__(self, folder: Path) -> None:
        lines = np.memmap(folder / contract.RECORDS, dtype=np.uint8, mode="r")
        self._store = RecordStore(lines, load_array(folder / contract.RECORD_OFFSETS))

    def __len__(self) -> int:
        return len(self._store)

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < len(self):
            raise IndexError(f"there is no record {place} of {len(self)}")
        return self._store.entry(place).record
