"""uvicorn's HTTP protocol with bounds on what clients may hold: connections, unread answers, time."""

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

from quartermaster.serving.http.errors import problem_of
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.strict_http import StrictConnection
from quartermaster.serving.tokens import client_network

_logger = logging.getLogger("router.http")
_WARNING_INTERVAL_S = 60.0
# A client that still sends would lose the refusal to a reset: for so long, what it sends is read and dropped.
_LINGER_S = 1.0
_LEAVES_WITHIN_S = 1.0  # an idle connection of a server that ends


class Connections:
    """The open connections, the oldest first.

    At the limit, in all or of one client, a new connection takes the place of one that waits for a request: the oldest
    of the client that has the most. So unfinished requests keep no probe out. Only where all are being answered is the
    new one refused.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._max = _within_descriptors(settings.max_connections)
        self._max_per_client = min(settings.max_connections_per_client, self._max)
        self._max_unsent = settings.max_unsent_bytes
        self._open: dict[BoundedProtocol, None] = {}
        self._per_client: Counter[str] = Counter()
        self._warned = -_WARNING_INTERVAL_S

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "BoundedProtocol") -> str | None:
        """Add a connection and return None, or return why it is refused."""
        if self._per_client[connection.network] >= self._max_per_client:
            self._warn(f"{connection.network} has {self._max_per_client} connections (--max-connections-per-client)")
            if not self._close_one_of([other for other in self._open if other.network == connection.network]):
                return f"your address has {self._max_per_client} requests under way: wait for an answer"
        if len(self._open) >= self._max:
            self._warn(f"there are {self._max} connections (--max-connections, and half of `ulimit -n`)")
            if not self._close_one_of(list(self._open)):
                return f"the server has {self._max} requests under way: try again"
        self._open[connection] = None
        self._per_client[connection.network] += 1
        return None

    def discard(self, connection: "BoundedProtocol") -> None:
        """Remove a connection that is closed, if it is there."""
        if connection in self._open:
            del self._open[connection]
            self._per_client[connection.network] -= 1
            if not self._per_client[connection.network]:
                del self._per_client[connection.network]

    def limit_unsent(self) -> None:
        """Close connections with the most unsent bytes while all together have more than the settings allow."""
        unsent = {connection: connection.transport.get_write_buffer_size() for connection in self._open}
        total = sum(unsent.values())
        for connection in sorted(unsent, key=lambda c: -unsent[c]):
            if total <= self._max_unsent:
                return
            self._warn(f"clients leave {total:,} bytes of answers unread (max_unsent_bytes)")
            total -= unsent[connection]
            self._close(connection)

    def _close_one_of(self, connections: "list[BoundedProtocol]") -> bool:
        waiting = [connection for connection in connections if connection.waits]
        if waiting:  # the oldest of equal ones
            self._close(max(waiting, key=lambda connection: self._per_client[connection.network]))
        return bool(waiting)

    def _close(self, connection: "BoundedProtocol") -> None:
        self.discard(connection)
        connection.transport.abort()

    def _warn(self, limit: str) -> None:
        if (now := time.monotonic()) - self._warned >= _WARNING_INTERVAL_S:
            self._warned = now
            _logger.warning("%s: some are closed for others", limit)


def _within_descriptors(connections: int) -> int:
    """Return a number of connections that leaves half of the process's file descriptors to everything else."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY or connections <= descriptors // 2:
        return connections
    _logger.warning("max_connections is %d, served are %d: half of `ulimit -n`", connections, descriptors // 2)
    return max(descriptors // 2, 1)


class BoundedProtocol(H11Protocol):
    """One connection. Closed when its headers or its reading of an answer take too long, or others need its place."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        settings: HttpSettings,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn: StrictConnection = StrictConnection(settings)
        self.network = ""  # of the client
        self._settings = settings
        self._connections = connections
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._refused = False

    @property
    def waits(self) -> bool:
        """Return whether it waits for a request: it is idle, or the headers are not complete."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it where there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # `pause_writing` is called as soon as anything is unsent
        self.network = client_network(self.client[0]) if self.client else ""
        if reason := self._connections.add(self):
            self._refuse(503, reason)
            transport.close()
        else:
            self._start("head", self._settings.header_timeout_s, self._on_slow_head)

    def data_received(self, data: bytes) -> None:
        """Read bytes of the client; those after a refusal are dropped."""
        if self._refused:
            return
        if self.waits and "head" not in self._deadlines:
            self._start("head", self._settings.header_timeout_s, self._on_slow_head)
        super().data_received(data)
        if not self.waits:
            self._stop("head")

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not valid, with the reason."""
        self._refuse(*self.conn.problem)

    def pause_writing(self) -> None:
        """Bound the time that the client takes to read."""
        super().pause_writing()
        self._start("answer", self._settings.answer_timeout_s, self.transport.abort)
        self._connections.limit_unsent()

    def resume_writing(self) -> None:
        """Note that everything is sent."""
        super().resume_writing()
        self._stop("answer")

    def shutdown(self) -> None:
        """Close after the next answer. To close an idle connection at once would lose a request that is on its way."""
        if self.waits:
            self.server_state.default_headers = [(b"connection", b"close")]
            self.loop.call_later(_LEAVES_WITHIN_S, super().shutdown)
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.discard(self)
        self._stop("head")
        self._stop("answer")
        super().connection_lost(exc)

    def _start(self, deadline: str, seconds: float, call: Callable[[], object]) -> None:
        """Call after so many seconds from now, unless the deadline is stopped or started anew."""
        self._stop(deadline)
        self._deadlines[deadline] = self.loop.call_later(seconds, call)

    def _stop(self, deadline: str) -> None:
        if timer := self._deadlines.pop(deadline, None):
            timer.cancel()

    def _on_slow_head(self) -> None:
        if self.conn.our_state is h11.IDLE and not self.conn.trailing_data[0]:
            self.transport.close()  # nothing was asked
        else:
            self._refuse(408, f"the headers did not come within {self._settings.header_timeout_s:g} s")

    def _refuse(self, status: int, reason: str) -> None:
        """Answer a request that the app does not see, and close; where an answer has begun, only close."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        self._refused = True
        body = msgspec.json.encode(problem_of(status, reason))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES.get(status, b""))
        parts = [self.conn.send(event) for event in (response, h11.Data(data=body), h11.EndOfMessage())]
        self.transport.write(b"".join(part for part in parts if part))
        self.transport.write_eof()
        self._start("head", _LINGER_S, self.transport.abort)
