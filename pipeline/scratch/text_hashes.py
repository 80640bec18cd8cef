"""The hashes of many texts, in order, in a file: 64 bytes each instead of the 113 of a string in memory."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from pipeline.scratch.folder import ScratchFolder

T = TypeVar("T")

TEXTS_AT_ONCE = 65_536
_HASH = np.dtype("S64")  # sha256 as 64 hex digits


class TextHashes(Sequence[str]):
    """Hashes of texts in the order of the texts. A slice is a view."""

    def __init__(self, stored: NDArray[np.bytes_]) -> None:
        """`stored` (texts,) are the hex digits of sha256, as bytes."""
        self._stored = stored

    @classmethod
    def write(cls, chunks: Iterable[Sequence[str]], scratch: ScratchFolder) -> Self:
        """Return the hashes of all chunks, one after the other, in a file of the scratch folder that goes with them."""
        path = scratch.file("hashes")
        with path.open("wb") as file:
            for chunk in chunks:
                file.write(np.array(chunk, _HASH).tobytes())
        stored = _mapped(path)
        path.unlink()  # what is mapped stays until nobody holds it
        return cls(stored)

    def __len__(self) -> int:
        return len(self._stored)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "TextHashes": ...
    def __getitem__(self, place: int | slice) -> "str | TextHashes":
        if isinstance(place, slice):
            return TextHashes(self._stored[place])
        return str(self._stored[place], "ascii")

    def __iter__(self) -> Iterator[str]:
        for chunk in chunks_of(self):
            yield from chunk

    def to_list(self) -> list[str]:
        """Return all of them as strings."""
        texts: list[str] = self._stored.astype("U64").tolist()
        return texts


def chunks_of(hashes: Sequence[str], size: int = TEXTS_AT_ONCE) -> Iterator[list[str]]:
    """Yield hashes in lists of at most `size`."""
    for first in range(0, len(hashes), size):
        chunk = hashes[first : first + size]
        yield chunk.to_list() if isinstance(chunk, TextHashes) else list(chunk)


def chunked(items: Iterable[T], size: int = TEXTS_AT_ONCE) -> Iterator[list[T]]:
    """Yield items in lists of at most `size`."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def _mapped(path: Path) -> NDArray[np.bytes_]:
    if not path.stat().st_size:
        return np.empty(0, _HASH)
    return np.asarray(np.memmap(path, _HASH, "r"))
