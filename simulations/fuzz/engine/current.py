"""The input that a worker runs now, in memory shared through a file: the watchdog saves it where the worker dies."""

import mmap
import struct
from pathlib import Path

from simulations.fuzz.mutation.mutator import MAX_INPUT

_HEAD = struct.Struct("<QQ")  # the number of inputs so far, the bytes of this one
_SIZE = _HEAD.size + MAX_INPUT


class CurrentInput:
    """The worker's end: `note` each input before it runs."""

    def __init__(self, path: Path) -> None:
        with path.open("w+b") as file:
            file.truncate(_SIZE)
            self._memory = mmap.mmap(file.fileno(), _SIZE)
        self._count = 0

    def note(self, data: bytes) -> None:
        """Store an input, of at most MAX_INPUT bytes."""
        self._count += 1
        self._memory[_HEAD.size : _HEAD.size + len(data)] = data
        self._memory[: _HEAD.size] = _HEAD.pack(self._count, len(data))


def read_current(path: Path) -> tuple[int, bytes]:
    """Return the number of the input that runs, 0 before the first, and the input."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return 0, b""
    if len(stored) < _HEAD.size:
        return 0, b""
    count, length = _HEAD.unpack_from(stored)
    return count, stored[_HEAD.size : _HEAD.size + length]
