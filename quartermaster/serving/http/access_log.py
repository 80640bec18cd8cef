"""The outermost layer: adds headers, counts, times and logs each request, and answers unexpected errors with 500."""

import logging
import time
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.http.errors import failure, route_of
from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.profiles import CALLER, AuditFailed, Caller

_access = logging.getLogger("router.access")
_logger = logging.getLogger("router.http")


class AccessLog:
    """Adds headers to answers, records metrics, and writes one line to the logger "router.access" for each request.

    A line holds neither the query, nor the body, nor the headers.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, headers: Mapping[str, str]) -> None:
        """Wrap an app. Each answer gets those of the `headers` that it does not set itself."""
        self._app = app
        self._headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and record its outcome."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, size, complete, begun = 0, 0, False, time.perf_counter()

        async def record_and_send(message: Message) -> None:
            nonlocal status, size, complete
            if message["type"] == "http.response.start":
                status, present = message["status"], {name for name, _ in message["headers"]}
                own = (header for header in self._headers if header[0] not in present)
                message["headers"] = [*message["headers"], *own]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
                complete = not message.get("more_body")
            await send(message)

        try:
            await self._app(scope, receive, record_and_send)
        except Exception:
            route = route_of(scope)
            _logger.exception("%s %s failed", scope["method"], route)
            if status and not complete:  # close the connection, so that half an answer is not taken for a whole one
                raise
            if not status:
                internal = failure(500, "internal error; the server's log has the details", scope=scope)
                await internal(scope, receive, record_and_send)
        finally:
            seconds, route = time.perf_counter() - begun, route_of(scope)
            self._metrics.request(route, scope["method"], status, seconds)
            if _access.isEnabledFor(logging.INFO):
                client = (scope.get("client") or ("-",))[0]
                line = (client, scope["method"], route, status, size, seconds * 1_000)
                _access.info("%s %s %s %d %d B %.1f ms", *line)


class AuditLayer:
    """Writes a line for each request that handed out tools or failed. An answer that cannot be told of is withheld."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer once it is written down."""
        caller: Caller | None = scope.get(CALLER)
        if caller is None or caller.audit is None:
            await self._app(scope, receive, send)
            return
        withheld = False

        async def write_and_send(message: Message) -> None:
            nonlocal withheld
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", caller.request.encode())]
                if caller.actions or status >= 400:
                    try:
                        await caller.record(f"{scope['method']} {route_of(scope)}", str(status))
                    except AuditFailed as error:
                        withheld = True
                        await _withheld(error, scope)(scope, receive, send)
            if not withheld:
                await send(message)

        await self._app(scope, receive, write_and_send)


def _withheld(error: AuditFailed, scope: Scope) -> ASGIApp:
    _logger.error("%s", error)
    reason = "the request cannot be recorded, so it is not answered; the server's log has the details"
    return failure(503, reason, scope=scope)
