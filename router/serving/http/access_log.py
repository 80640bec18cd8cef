"""The outermost layer: counts and times each request, writes its line, and answers for what nobody foresaw."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.serving.http.errors import failure, route_of
from router.serving.http.metrics import Metrics

_access = logging.getLogger("router.access")
_logger = logging.getLogger("router.http")


class AccessLog:
    """Metrics and one line of the logger "router.access" for each request: never its query, its body or its headers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and watch what becomes of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, size, whole, begun = 0, 0, False, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, size, whole
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
                whole = not message.get("more_body")
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            route = route_of(scope)
            _logger.exception("%s %s failed", scope["method"], route)
            if status and not whole:  # the connection ends, so that nobody takes half an answer for a whole one
                raise
            if not status:
                await failure(500, "internal error; the server's log has the details")(scope, receive, watched)
        finally:
            seconds, route = time.perf_counter() - begun, route_of(scope)
            self._metrics.request(route, scope["method"], status, seconds)
            if _access.isEnabledFor(logging.INFO):
                client = (scope.get("client") or ("-",))[0]
                line = (client, scope["method"], route, status, size, seconds * 1_000)
                _access.info("%s %s %s %d %d B %.1f ms", *line)
