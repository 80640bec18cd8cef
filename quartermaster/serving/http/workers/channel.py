"""A worker's end of the socket to its supervisor: it tells its state, hears when to drain, and ends if it is alone."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from quartermaster.serving.http.workers.messages import DRAIN, Message, encode_message


class Channel:
    """Sends without waiting, and listens in a thread."""

    def __init__(self, connection: socket.socket, stop_within_s: float) -> None:
        """Listen. Where the supervisor is gone, this process gets SIGTERM, and ends within `stop_within_s`."""
        self._socket = connection
        self._stop_within_s = stop_within_s
        self._unsent = b""
        self._on_drain: Callable[[], None] = _end
        self.alone = False
        """Whether the supervisor is gone."""
        threading.Thread(target=self._listen, name="quartermaster-supervisor", daemon=True).start()

    def on_drain(self, call: Callable[[], None]) -> None:
        """Call from the listening thread when the supervisor says so; before, the process would just end."""
        self._on_drain = call

    def send(self, message: Message) -> None:
        """Send a message, unless the supervisor has not taken the ones before: then it is told again later."""
        if not self._unsent:
            self._unsent = encode_message(message)
        with suppress(OSError):  # full, or nobody is there: the listening thread sees to that
            sent = self._socket.send(self._unsent, socket.MSG_DONTWAIT)
            self._unsent = self._unsent[sent:]

    def _listen(self) -> None:
        heard = b""
        while received := self._receive():
            heard += received
            if DRAIN in heard:
                heard = b""
                self._on_drain()
        self.alone = True
        _end()
        time.sleep(self._stop_within_s)
        os._exit(1)

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(64)
        except OSError:
            return b""


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
