"""The checks before a request is read: its host, the client's rate, the token and the size of its body."""

import asyncio
import base64
import hmac
import logging
import re
import time
from typing import cast

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.http.errors import failure
from quartermaster.serving.http.settings import PROBES, HttpSettings
from quartermaster.serving.profiles import CALLER, AuditFailed, CallerRefused, Callers
from quartermaster.serving.rate_limit import RateLimit

_API_PATHS = ("/v1/", "/mcp")
_CLOSE = {"Connection": "close"}
_logger = logging.getLogger("router.http")
# A Host header: a name or an address, and a port (RFC 9110, 7.2).
_HOST = re.compile(r"([^\s:@/\[\]]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")


class RequestGuard:
    """Refuses requests with 421, 429, 401, 503, 413 and 408, checked in this order, and buffers the body of the others.

    A body is measured as it arrives, whatever its Content-Length. Tokens are compared in constant time, after the rate
    limit, which also bounds guessing. With `callers`, the token says who calls, and the scope's `CALLER` is that.
    """

    def __init__(self, app: ASGIApp, settings: HttpSettings, callers: Callers | None = None) -> None:
        self._app = app
        self._settings = settings
        self._hosts = settings.known_hosts
        self._rate_limit = RateLimit(settings.requests_per_minute) if settings.requests_per_minute else None
        self._token = settings.token.encode() if settings.token else None
        self._callers = callers
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on with its body buffered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        probe = scope["path"] in PROBES
        refused = self._check_host(scope, headers)
        if refused is None and not probe:
            refused = self._check_rate(scope) or await self._check_caller(scope, headers) or self._check_busy(scope)
        if refused is not None:
            await refused(scope, receive, send)
        elif probe:
            await self._app(scope, receive, send)
        else:
            await self._pass_on(scope, headers, receive, send)

    async def _pass_on(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        body = await self._read_body(scope, headers, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        if refused := self._check_busy(scope):
            await refused(scope, receive, send)
            return
        self._running += 1  # only now: bodies that drip keep no other request out
        try:
            await self._app(scope, _replay(body, receive), send)
        finally:
            self._running -= 1

    def _check_busy(self, scope: Scope) -> Response | None:
        if self._running < self._settings.max_concurrent:
            return None
        busy = f"the server answers {self._running} requests at a time, and that many are under way: try again"
        return failure(503, busy, headers={"Retry-After": "1"}, scope=scope)

    async def _read_body(self, scope: Scope, headers: Headers, receive: Receive) -> bytes | Response:
        """Return the whole body, or the failure to answer if it is too large or does not arrive."""
        limit, declared = self._settings.max_request_bytes, headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            return _too_large(limit, scope)
        parts = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return failure(400, "the client left before its request was complete", scope=scope)
                    parts += message.get("body", b"")
                    if len(parts) > limit:
                        return _too_large(limit, scope)
                    if not message.get("more_body"):
                        return bytes(parts)
        except TimeoutError:
            too_slow = f"the body did not come within {self._settings.body_timeout_s:g} s"
            return failure(408, too_slow, headers=_CLOSE, scope=scope)

    def _check_host(self, scope: Scope, headers: Headers) -> Response | None:
        if "*" in self._hosts:
            return None
        given = headers.get("host", "")
        host = _HOST.fullmatch(given)
        if host and host[1].strip("[]").lower() in self._hosts:
            return None
        return failure(421, f"the host {given!r} is not served here: --allow-host NAME adds one", scope=scope)

    def _check_rate(self, scope: Scope) -> Response | None:
        client = cast("tuple[str, int] | None", scope.get("client"))
        wait = self._rate_limit.wait(client[0] if client else "", time.monotonic()) if self._rate_limit else 0
        if not wait:
            return None
        message = f"more than {self._settings.requests_per_minute:,} requests a minute: wait {wait} s"
        return failure(429, message, headers={"Retry-After": str(wait)}, scope=scope)

    async def _check_caller(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the failure of a request without a token that lets it in. With profiles, set its caller."""
        if self._token is None and self._callers is None:
            return None
        credential = _credential(headers, scope)
        if self._callers is None:
            if self._token and hmac.compare_digest(credential.encode("utf-8", "replace"), self._token):
                return None
        else:
            try:
                caller = self._callers.of_token(credential)
            except CallerRefused as error:
                return await _refuse(error, scope)
            if caller is not None:
                scope[CALLER] = caller
                return None
        return _unauthorized("a token is required: Authorization: Bearer …", scope)


def _too_large(limit: int, scope: Scope) -> Response:
    return failure(413, f"the body is larger than {limit:,} bytes", headers=_CLOSE, scope=scope)


async def _refuse(error: CallerRefused, scope: Scope) -> Response:
    """Return the failure of a caller who is known, and tell the audit log of it."""
    try:
        await error.caller.record("", "401" if error.wait_s is None else "429")
    except AuditFailed as failed:
        _logger.error("%s", failed)
    if error.wait_s is None:
        return _unauthorized(str(error), scope)
    return failure(429, str(error), headers={"Retry-After": str(error.wait_s)}, scope=scope)


def _credential(headers: Headers, scope: Scope) -> str:
    """Return the token that a request brings, "" for none, and for several: a proxy may have checked another one."""
    given = headers.getlist("authorization")
    scheme, _, credential = (given[0] if len(given) == 1 else "").partition(" ")
    # A browser cannot send a bearer token; it asks for a name, which may be any, and a password: the token. The API
    # refuses passwords, because browsers send them unasked, even from other sites.
    if scheme.lower() == "basic" and not _is_api(scope):
        return _password(credential).strip()
    return credential.strip() if scheme.lower() == "bearer" else ""


def _is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.startswith(_API_PATHS)


def _unauthorized(message: str, scope: Scope) -> Response:
    basic = 'Basic realm="quartermaster, any name, the token as password", charset="UTF-8"'
    challenge = "Bearer" if _is_api(scope) else basic
    return failure(401, message, headers={"WWW-Authenticate": challenge}, scope=scope)


def _password(credential: str) -> str:
    try:
        return base64.b64decode(credential, validate=True).decode("utf-8").partition(":")[2]
    except ValueError:  # neither base64 nor UTF-8
        return ""


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the buffered body first, then whatever the client sends next."""
    first: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def replay() -> Message:
        nonlocal first
        message, first = first, None
        return message if message is not None else await receive()

    return replay
