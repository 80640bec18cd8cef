"""The process: its cores, its freed memory, what a fork must not copy, and ONNX Runtime kept from reporting.

A forked child copies its parent's objects; a lock that another thread of the parent held would stay locked forever.
Locks of Python are renewed in the child. Those inside ONNX Runtime cannot be: a fork waits until its runs have ended.
"""

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

_FORK_WAITS_S = 5.0  # then it goes on: a signal handler may fork inside the very run that it interrupts


def cores() -> int:
    """Return how many cores this process may use; all of the machine's where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def return_freed_memory() -> None:
    """Return freed memory to the system, which glibc keeps for the process; elsewhere do nothing. It takes 2 ms."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def silence_onnxruntime() -> None:
    """Keep ONNX Runtime from reporting usage to its maker. Call it before the import, which reads the variable.

    A value that the user has set stands.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def renew_in_child(owner: object, name: str) -> None:
    """Replace the lock in the attribute `name` of an object in every child that is forked while the object lives."""
    _owners.setdefault(owner, set()).add(name)


@contextmanager
def delay_forks() -> Iterator[None]:
    """Let forks of this process wait for the end of the block, 5 s at most; while one waits, no new block begins."""
    global _delaying
    with _fork, _ended:
        _delaying += 1
    try:
        yield
    finally:
        with _ended:
            _delaying = max(_delaying - 1, 0)  # a child that was forked inside the block begins at 0
            _ended.notify_all()


def _before_fork() -> None:
    _fork.acquire()
    with _ended:
        _ended.wait_for(lambda: not _delaying, _FORK_WAITS_S)


def _after_fork_in_child() -> None:
    global _fork, _ended, _delaying
    _fork, _ended, _delaying = threading.Lock(), threading.Condition(), 0
    for owner, names in list(_owners.items()):
        for name in names:
            setattr(owner, name, threading.Lock())


_owners: "weakref.WeakKeyDictionary[object, set[str]]" = weakref.WeakKeyDictionary()
_fork, _ended, _delaying = threading.Lock(), threading.Condition(), 0
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=lambda: _fork.release(), after_in_child=_after_fork_in_child
    )
