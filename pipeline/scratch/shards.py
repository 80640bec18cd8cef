"""A sequence in files of a fixed number of items each, of which a few are in memory at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, overload

T = TypeVar("T")

# Boundaries depend on the data alone, so that a snapshot does not depend on how many workers wrote the shards.
SHARD_SIZE = 4_096
_CACHED = 4  # shards in memory: some 70 MB of records, 35 MB of documents. A catalog of no more is read once.


class Shards(Sequence[T]):
    """Items in files, every file but the last with `size` of them. Pickled, it is the paths alone."""

    def __init__(
        self, paths: Sequence[Path], count: int, read: Callable[[Path], Sequence[T]], size: int = SHARD_SIZE
    ) -> None:
        """`count` is the number of items in all files, `read` a module's function that returns those of one file."""
        self.paths = tuple(paths)
        self.size = size
        self._count = count
        self._read = read
        self._cached = lru_cache(maxsize=_CACHED)(read)

    def __reduce__(self) -> tuple[Any, ...]:
        return Shards, (self.paths, self._count, self._read, self.size)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(self._count))]
        at = range(self._count)[place]
        return self._cached(self.paths[at // self.size])[at % self.size]

    def __iter__(self) -> Iterator[T]:
        for path in self.paths:
            yield from self._cached(path)

    def shards(self) -> Iterator[tuple[int, Path]]:
        """Yield the place of each shard's first item, with the shard's file."""
        return ((number * self.size, path) for number, path in enumerate(self.paths))


def write_shards(
    items: Iterable[T],
    folder: Path,
    write: Callable[[Path, Sequence[T]], None],
    read: Callable[[Path], Sequence[T]],
    size: int = SHARD_SIZE,
) -> Shards[T]:
    """Write items as shards of `folder`, which is made, and return them; one shard is in memory at a time."""
    folder.mkdir(parents=True)
    remaining, paths, count = iter(items), list[Path](), 0
    while shard := list(islice(remaining, size)):
        paths.append(folder / shard_name(len(paths)))
        write(paths[-1], shard)
        count += len(shard)
    return Shards(paths, count, read, size)


def shard_name(number: int) -> str:
    """Return the file name of a shard, counted from 0; names are in the order of the shards."""
    return f"{number:06}.parquet"
