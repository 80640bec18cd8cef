"""A thread that looks for a newer snapshot again and again, as long as somebody refers to what it serves."""

import logging
import os
import random
import threading
import weakref
from contextlib import suppress
from typing import Protocol

_logger = logging.getLogger("router")
_JITTER = 0.1  # by which a pause between two looks differs from the interval at most, as a share of it


class Watched(Protocol):
    """What is asked to look, and referred to weakly."""

    def look(self) -> None:
        """Look once."""
        ...


class Watcher:
    """Lets `watched` look about every `interval` seconds, until it is closed, or until nobody else refers to it.

    Nothing else ends it, also not a panic of a library or a lack of memory: the old snapshot would then serve on
    without a word. What fails is logged with `label`. A forked child has a thread of its own.
    """

    def __init__(self, watched: Watched, interval: float, label: str) -> None:
        self._arguments = weakref.ref(watched), interval, label
        self.start()
        _watchers.add(self)

    def start(self) -> None:
        """Start the thread: a forked child has its parent's watchers without theirs."""
        self._closed = threading.Event()
        weakref.finalize(self, self._closed.set)
        arguments = (*self._arguments, self._closed)
        self._thread = threading.Thread(target=_watch, args=arguments, name="quartermaster-watch", daemon=True)
        self._thread.start()

    def close(self, timeout: float | None) -> None:
        """End the thread, and wait for it: `timeout` seconds at most, or as long as it takes."""
        self._closed.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
        _watchers.discard(self)


def _watch(watched: "weakref.ref[Watched]", interval: float, label: str, closed: threading.Event) -> None:
    # A thousand routers that were deployed at one moment ask their bucket all through the interval, and fetch a
    # publication one after another. Not seeded: each process, and each child of a fork, must draw its own moments.
    draw = random.SystemRandom()
    pause = draw.uniform(0, interval)
    while not closed.wait(pause):
        pause = interval * draw.uniform(1 - _JITTER, 1 + _JITTER)
        with suppress(BaseException):  # such as of a handler of the log
            if not _look(watched, label):
                return


def _look(watched: "weakref.ref[Watched]", label: str) -> bool:
    """Look once and return True; False where the watched snapshot is gone. What fails is logged."""
    one = watched()
    if one is None:
        return False
    try:
        one.look()
    except BaseException:
        _logger.exception("%s: looking for a new snapshot failed", label)
    return True


def _restart() -> None:
    for watcher in list(_watchers):
        watcher.start()


_watchers: "weakref.WeakSet[Watcher]" = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart)
