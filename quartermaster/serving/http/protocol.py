"""uvicorn's HTTP protocol with bounds on what a client may hold: connections, and the time of headers and answers."""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

from quartermaster.serving.http.connections import Connections
from quartermaster.serving.http.errors import failure_json
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.strict_http import StrictConnection
from quartermaster.serving.rate_limit import client_network

# A client that still sends would lose the refusal to a reset: for so long, what it sends is read and dropped.
_LINGER_S = 1.0
_LEAVES_WITHIN_S = 1.0  # an idle connection of a server that ends


class _Deadline:
    """A call after some seconds, unless it is stopped or started anew."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    @property
    def runs(self) -> bool:
        """Return whether it was started, and not stopped."""
        return self._timer is not None

    def start(self, seconds: float, call: Callable[[], object]) -> None:
        """Call after so many seconds from now."""
        self.stop()
        self._timer = self._loop.call_later(seconds, call)

    def stop(self) -> None:
        """Call no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


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
        self.network = ""
        self._settings = settings
        self._connections = connections
        self._head_deadline, self._answer_deadline = _Deadline(self.loop), _Deadline(self.loop)
        self._refused = False

    @property
    def waits(self) -> bool:
        """Return whether it waits for a request: it is idle, or the headers are not complete."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def unsent_bytes(self) -> int:
        """Return the bytes of answers that the client has not taken yet."""
        return self.transport.get_write_buffer_size()

    def abort(self) -> None:
        """Close the connection at once, whatever is unsent."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it where there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # `pause_writing` is called as soon as anything is unsent
        self.network = client_network(self.client[0]) if self.client else ""
        if reason := self._connections.add(self):
            self._refuse(503, reason)
            transport.close()
        else:
            self._head_deadline.start(self._settings.header_timeout_s, self._on_slow_head)

    def data_received(self, data: bytes) -> None:
        """Read bytes of the client; those after a refusal are dropped."""
        if self._refused:
            return
        if self.waits and not self._head_deadline.runs:
            self._head_deadline.start(self._settings.header_timeout_s, self._on_slow_head)
        super().data_received(data)
        if not self.waits:
            self._head_deadline.stop()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not valid, with the reason."""
        status, reason = self.conn.problem
        self._refuse(status, reason)

    def pause_writing(self) -> None:
        """Bound the time that the client takes to read."""
        super().pause_writing()
        self._answer_deadline.start(self._settings.answer_timeout_s, self.transport.abort)
        self._connections.limit_unsent()

    def resume_writing(self) -> None:
        """Note that everything is sent."""
        super().resume_writing()
        self._answer_deadline.stop()

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
        self._head_deadline.stop()
        self._answer_deadline.stop()
        super().connection_lost(exc)

    def _on_slow_head(self) -> None:
        if self.conn.our_state is h11.IDLE and not self.conn.trailing_data[0]:
            self.transport.close()  # nothing was asked
        else:
            self._refuse(408, f"the headers did not come within {self._settings.header_timeout_s:g} s")

    def _refuse(self, status: int, reason: str) -> None:
        """Answer a request that the app does not see, and close; where an answer has begun, close alone."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        self._refused = True
        body = msgspec.json.encode(failure_json(status, reason))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES.get(status, b""))
        parts = [self.conn.send(event) for event in (response, h11.Data(data=body), h11.EndOfMessage())]
        self.transport.write(b"".join(part for part in parts if part))
        self.transport.write_eof()
        self._head_deadline.start(_LINGER_S, self.transport.abort)
