"""An HTTP session under one deadline, for documents, hooks and metrics.

The timeout of `requests` starts anew with each byte: a server that drips its headers would never meet it.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from pipeline.sources.transport.addresses import Reach


class DeadlineSession(requests.Session):
    """A session whose connections are all cut `seconds` from now. It follows no redirect.

    requests itself reads the body of each redirect to its end, and takes every header but Authorization to another
    host. `reach`, where it is given, says which addresses may be connected to; what goes through a proxy of the
    environment is left to the proxy.
    """

    def __init__(self, seconds: float, reach: Reach | None = None) -> None:
        super().__init__()
        self._until = time.monotonic() + seconds
        self._reach = reach
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(self))

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.close()
        with self._lock:
            for kept in self._sockets:
                kept.close()
            self._sockets.clear()

    @property
    def left(self) -> float:
        """Return the seconds that are left; 0 where the deadline has passed."""
        return max(0.0, self._until - time.monotonic())

    @property
    def is_late(self) -> bool:
        """Return whether the deadline has passed."""
        return self.left == 0

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:
        """Follow none."""
        return iter(())

    def connect(self, connection: HTTPConnection, connect: Callable[[], socket.socket]) -> socket.socket:
        """Return a connection's socket, of an address that was checked, and cut it at the deadline."""
        host = connection._dns_host  # TLS names the host by it, so that it is put back
        addresses = [host]
        if self._reach is not None:
            addresses = self._reach.resolve(host, connection.port or 0, self.left)
        try:
            for address in addresses:
                connection._dns_host = address
                try:
                    return self._watched(connect())
                except NewConnectionError:
                    if address == addresses[-1]:
                        raise
        finally:
            connection._dns_host = host
        raise AssertionError("there is an address")

    def _watched(self, connected: socket.socket) -> socket.socket:
        # A duplicate: TLS takes the socket itself over, and the connection stays the same.
        with self._lock:
            self._sockets.append(socket.socket(fileno=os.dup(connected.fileno())))
        if self.is_late:
            self._cut()
        return connected

    def _cut(self) -> None:
        with self._lock:
            for kept in self._sockets:
                with suppress(OSError):
                    kept.shutdown(socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Opens connections by way of the session."""

    def __init__(self, session: DeadlineSession) -> None:
        self._session = session
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools whose connections the session opens."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _pools(self._session.connect)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """Return the pools of a proxy. Its own address is the operator's word."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _pools(lambda _, connect: self._session._watched(connect()))
        return manager


def _pools(open_socket: Callable[[HTTPConnection, Callable[[], socket.socket]], socket.socket]) -> dict[str, Any]:
    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return open_socket(self, super()._new_conn)

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return open_socket(self, super()._new_conn)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}
