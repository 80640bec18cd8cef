"""A door in front of a server: it can be closed in the middle, as if the server was killed, and opened again."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Literal

from tests.support.ports import kept_port

Mode = Literal["open", "gone", "hangs"]


class Proxy:
    """Passes connections on to a server on loopback.

    Attributes:
        port: Where it listens.
        mode: What becomes of a connection: "open" passes it on, "gone" refuses it, "hangs" never answers.
    """

    def __init__(self, target: int, port: int) -> None:
        self._target = target
        self._sockets: list[socket.socket] = []
        self.port = port
        self.mode: Mode = "gone"
        self.switch("open")

    def switch(self, mode: Mode) -> None:
        """Treat connections otherwise from now on, and end those that there are."""
        if self.mode == "gone" and mode != "gone":
            self._listener = socket.create_server(("127.0.0.1", self.port))
            Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        elif mode == "gone" and self.mode != "gone":
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not wake the thread that accepts
            self._listener.close()
        self.mode = mode
        while self._sockets:
            with suppress(OSError):
                self._sockets.pop().shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._sockets.append(client)
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self.mode == "open":
                with socket.create_connection(("127.0.0.1", self._target)) as server:
                    self._sockets.append(server)
                    back = Thread(target=_copy, args=(server, client), daemon=True)
                    back.start()
                    _copy(client, server)
                    back.join()
            elif self.mode == "hangs":
                while client.recv(65536):
                    pass


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxied(target: int) -> Iterator[Proxy]:
    """Yield a proxy to a port of this machine."""
    with kept_port() as port:
        proxy = Proxy(target, port)
        try:
            yield proxy
        finally:
            proxy.switch("gone")
