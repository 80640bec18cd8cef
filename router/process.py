"""The process: its cores, and its locks after a fork.

A forked child has its parent's objects; a lock that another thread held stays locked there for good.
"""

import os
import threading
import weakref


def cores() -> int:
    """Return how many cores this process may use: all where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def renew_in_child(owner: object, name: str) -> None:
    """Give an object a new lock, as its attribute `name`, in each child that is forked while it lives."""
    _owners.setdefault(owner, set()).add(name)


def _renew() -> None:
    for owner, names in list(_owners.items()):
        for name in names:
            setattr(owner, name, threading.Lock())


_owners: "weakref.WeakKeyDictionary[object, set[str]]" = weakref.WeakKeyDictionary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
