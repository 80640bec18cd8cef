"""The process: its cores, its freed memory, new locks after a fork, and ONNX Runtime kept from reporting.

A forked child copies its parent's objects; a lock that another thread of the parent held would stay locked forever.
"""

import os
import sys
import threading
import weakref


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


def _renew() -> None:
    for owner, names in list(_owners.items()):
        for name in names:
            setattr(owner, name, threading.Lock())


_owners: "weakref.WeakKeyDictionary[object, set[str]]" = weakref.WeakKeyDictionary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
