"""Signals as something to wait for: their numbers come out of a socket."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager


class Signals:
    """The signals that arrived."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def take(self) -> list[int]:
        """Return the numbers of the signals since the last call, in their order."""
        try:
            return list(self.connection.recv(256))
        except BlockingIOError:
            return []


@contextmanager
def signals_of(*numbers: int) -> Iterator[Signals]:
    """Collect these signals inside the block, in the main thread; afterwards what handled them before does again."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    previous = {number: signal.signal(number, lambda *_: None) for number in numbers}
    wakes = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield Signals(ours)
    finally:
        signal.set_wakeup_fd(wakes)
        for number, handler in previous.items():
            signal.signal(number, handler)
        ours.close()
        theirs.close()
