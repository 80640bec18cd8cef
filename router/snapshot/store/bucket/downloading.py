"""One file from a bucket to the disk: in ranges, hashed on the way, continued where it broke off."""

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.daemons import Stopped
from router.snapshot.store.bucket.head import file_object
from router.snapshot.store.bucket.objects import Objects, ObjectUnavailable
from router.snapshot.store.durable import sync

_RANGE = 8 << 20  # bytes of one request: at a request's 60 s, a line of 140 KB/s is fast enough
_BLOCK = 1 << 20
_TRIES = 3  # a byte may flip on the way; an object that differs three times is wrong in the bucket
_BREAKS = 4  # requests in a row that brought no byte
_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0


def download(
    objects: Objects,
    sha256: str,
    size: int,
    target: Path,
    stop: threading.Event,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Write the file of this content and size to `target`, on disk and read-only when this returns.

    What an earlier attempt has left is continued. `advance` is called with the number of bytes that came, negative
    where they have to come again. Raises SnapshotInvalid where the object is not what its name says, FileNotFoundError,
    ObjectUnavailable, and OSError where the disk fails.
    """
    part = target.with_name(f"{target.name}.part")
    for _ in range(_TRIES):
        if _fetch(objects, sha256, size, part, stop, advance) == sha256:
            sync(part)
            part.chmod(part.stat().st_mode & ~0o222)
            part.replace(target)
            return
        part.unlink()
        advance(-size)
    raise SnapshotInvalid(
        f"{objects.url}/{file_object(sha256)} is not what its name says: its {size:,} bytes have another sha256, "
        f"{_TRIES} times; push the snapshot again"
    )


def _fetch(
    objects: Objects, sha256: str, size: int, part: Path, stop: threading.Event, advance: Callable[[int], object]
) -> str:
    """Append what a part of a file lacks, and return the sha256 of the whole."""
    digest = hashlib.sha256()
    with part.open("a+b") as file:
        if file.tell() > size:
            file.truncate(0)
        file.seek(0)
        while block := file.read(_BLOCK):
            digest.update(block)
        advance(file.tell())
        breaks = 0
        while (start := file.tell()) < size:
            try:
                _append(objects, sha256, min(_RANGE, size - start), file, digest.update, stop)
            except ObjectUnavailable:
                breaks = 0 if file.tell() > start else breaks + 1
                if breaks == _BREAKS:
                    raise
            if file.tell() == start and stop.wait(min(_PAUSE_S * 2**breaks, _LONGEST_PAUSE_S)):
                raise Stopped("the router was closed")
            advance(file.tell() - start)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _append(
    objects: Objects, sha256: str, length: int, file: BinaryIO, hashed: Callable[[bytes], None], stop: threading.Event
) -> None:
    """Append one range to a file. A server that sends more than was asked for is not read further."""
    left = length
    for data in objects.stream_range(file_object(sha256), file.tell(), length):
        if stop.is_set():
            raise Stopped("the router was closed")
        if len(data) > left:
            raise ObjectUnavailable(f"{objects.url}/{file_object(sha256)}: the bucket sends more than it was asked for")
        file.write(data)
        hashed(data)
        left -= len(data)
    if left == length:
        raise ObjectUnavailable(f"{objects.url}/{file_object(sha256)}: the bucket sends nothing")
