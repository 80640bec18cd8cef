"""The outermost layer of the app: headers, metrics, a log line and a line of the audit log for each request."""

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.audit import AuditFailed
from quartermaster.serving.http.errors import crashed, failure, route_of
from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.profiles import CALLER, Caller

_access = logging.getLogger("router.access")
_logger = logging.getLogger("router.http")
# A browser keeps no answer, runs nothing in it, shows it to no other page and reveals it to no other site. Pages use
# their own style sheet and forms that lead here; there is no script. "same-origin" tells other sites nothing, and lets
# a form say where it comes from.
_SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NOT_RECORDED = "the request cannot be recorded, so it is not answered; the server's log has the details"


def logged(app: ASGIApp, metrics: Metrics) -> ASGIApp:
    """Wrap an app: add headers to answers, count them, and write one line to "router.access" for each request.

    A line holds neither the query, nor the body, nor the headers. An unexpected error is answered with 500. With
    profiles, each request that handed out tools or failed has a line in the audit log, too: if the audit line fails, no
    response is sent, but for one that says so.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status, size, complete, withheld, begun = 0, 0, False, False, time.perf_counter()

        async def record_and_send(message: Message) -> None:
            nonlocal status, size, complete, withheld
            if withheld:
                return
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                caller: Caller | None = scope.get(CALLER)
                if caller is not None and caller.audit is not None:
                    headers["X-Request-Id"] = caller.request
                    if (caller.actions or status >= 400) and not await _is_recorded(caller, scope, status):
                        del scope[CALLER]  # the refusal is not recorded either
                        await failure(503, _NOT_RECORDED)(scope, receive, record_and_send)
                        withheld = True
                        return
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
                complete = not message.get("more_body")
            await send(message)

        try:
            await app(scope, receive, record_and_send)
        except Exception as error:  # unforeseen: the line of the request is written all the same
            _logger.exception("%s %s failed", scope["method"], route_of(scope))
            if status and not complete:  # close the connection, so that half an answer is not taken for a whole one
                raise
            if not status:
                internal = await crashed(Request(scope), error)
                await internal(scope, receive, record_and_send)
        finally:
            seconds, route = time.perf_counter() - begun, route_of(scope)
            metrics.request(route, scope["method"], status, seconds)
            client = (scope.get("client") or ("-",))[0]
            line = (client, scope["method"], route, status, size, seconds * 1_000)
            _access.info("%s %s %s %d %d B %.1f ms", *line)

    return answer


async def _is_recorded(caller: Caller, scope: Scope, status: int) -> bool:
    try:
        await caller.record(f"{scope['method']} {route_of(scope)}", str(status))
    except AuditFailed as error:
        _logger.error("%s", error)
        return False
    return True
