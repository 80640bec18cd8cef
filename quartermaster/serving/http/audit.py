"""The layer that tells the audit log of each request of a known caller, before its answer is sent."""

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.http.errors import failure, route_of
from quartermaster.serving.profiles import CALLER, AuditFailed, Caller

_logger = logging.getLogger("router.http")


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
