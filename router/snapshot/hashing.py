"""Hash the files of a snapshot, several at a time: reading and hashing let other threads run.

See docs/decisions/layers.md.
"""

import hashlib
import io
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

# Long blocks, because a thread waits for the interpreter between two of them, up to 5 ms beside one that imports.
_BLOCK = 1 << 22
_FEW_BYTES = 1 << 22  # that are hashed before a thread has started
_MOST_THREADS = 4  # each holds a block


def hash_opened(
    descriptors: Sequence[int], threads: int, meanwhile: Callable[[], object]
) -> Mapping[int, str | OSError]:
    """Return by descriptor the sha256 (64 hex digits) of open files, or the error of one that cannot be read.

    `meanwhile` runs in the calling thread, which then hashes too; it hashes a few megabytes by itself. What `meanwhile`
    raises is raised. All threads have ended when this returns or raises.
    """
    sizes = {descriptor: os.fstat(descriptor).st_size for descriptor in descriptors}
    waiting = sorted(descriptors, key=sizes.__getitem__)  # the largest, which come first, are popped from the end
    hashed: dict[int, str | OSError] = {}
    block = min(_BLOCK, max(sizes.values(), default=0)) + 1  # one more, so that a small file takes one block

    def hash_waiting() -> None:
        buffer = memoryview(bytearray(block))
        while waiting:
            try:
                descriptor = waiting.pop()
            except IndexError:  # another thread took the last one
                return
            try:
                hashed[descriptor] = _sha256(descriptor, buffer)
            except OSError as error:
                hashed[descriptor] = error

    count = min(threads, _MOST_THREADS) if sum(sizes.values()) > _FEW_BYTES else 0
    workers = [threading.Thread(target=hash_waiting, name=f"quartermaster-hash-{n}") for n in range(count)]
    try:
        with suppress(RuntimeError):  # the system gives no thread more: those that have started do
            for worker in workers:
                worker.start()
        meanwhile()
        hash_waiting()
    finally:
        waiting.clear()  # after an interruption the threads end with the file that they read
        _join(workers)
    return hashed


def _join(workers: Sequence[threading.Thread]) -> None:
    """Wait until no thread reads a descriptor, which the caller may then close; through an interruption too."""
    try:
        for worker in workers:
            if worker.is_alive():  # one that has not begun yet finds nothing waiting
                worker.join()
    except BaseException:
        _join(workers)
        raise


def _sha256(descriptor: int, buffer: memoryview) -> str:
    digest = hashlib.sha256()
    with io.FileIO(descriptor, closefd=False) as stream:
        while count := stream.readinto(buffer):
            digest.update(buffer[:count])
    return digest.hexdigest()
