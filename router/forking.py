"""Locks after a fork: a child has its parent's objects, and may have got a lock that a thread held who is not there."""

import os
import threading
import weakref


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
