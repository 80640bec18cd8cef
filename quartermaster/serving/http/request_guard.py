"""The checks before a request is read: its host, the client's rate, the token and the size of its body."""

import asyncio
import base64
import hmac
import logging
import re
import time
from collections.abc import Mapping
from typing import cast

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.http.errors import failure
from quartermaster.serving.http.settings import PROBES, HttpSettings
from quartermaster.serving.profiles import CALLER, AuditFailed, CallerRefused, Callers
from quartermaster.serving.rate_limit import RateLimit

_API_PATHS = ("/v1/", "/mcp")
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
        refused = self._check_host(headers)
        if refused is None and not probe:
            refused = self._check_rate(scope) or await self._check_caller(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
        elif probe:
            await self._app(scope, receive, send)
        elif self._running >= self._settings.max_concurrent:
            await self._busy()(scope, receive, send)
        else:
            await self._pass_on(scope, headers, receive, send)

    def _busy(self) -> Response:
        busy = f"the server answers {self._running} requests at a time, and that many are under way: try again"
        return failure(503, busy, headers={"Retry-After": "1"})

    async def _pass_on(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        limit = self._settings.max_request_bytes
        declared = headers.get("content-length", "")
        body = None if declared.isdigit() and int(declared) > limit else await self._read_body(receive)
        if body is None:
            too_large = failure(413, f"the body is larger than {limit:,} bytes", headers={"Connection": "close"})
            await too_large(scope, receive, send)
        elif isinstance(body, Response):
            await body(scope, receive, send)
        # Counted only now: bodies that drip keep no other request out.
        elif self._running >= self._settings.max_concurrent:
            await self._busy()(scope, receive, send)
        else:
            self._running += 1
            try:
                await self._app(scope, _replay(body, receive), send)
            finally:
                self._running -= 1

    async def _read_body(self, receive: Receive) -> bytes | Response | None:
        """Return the whole body, None if it is too large, or the failure to answer if it does not arrive."""
        parts = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return failure(400, "the client left before its request was complete")
                    parts += message.get("body", b"")
                    if len(parts) > self._settings.max_request_bytes:
                        return None
                    if not message.get("more_body"):
                        return bytes(parts)
        except TimeoutError:
            too_slow = f"the body did not come within {self._settings.body_timeout_s:g} s"
            return failure(408, too_slow, headers={"Connection": "close"})

    def _check_host(self, headers: Headers) -> Response | None:
        if "*" in self._hosts:
            return None
        host = _HOST.fullmatch(headers.get("host", ""))
        if host and host[1].strip("[]").lower() in self._hosts:
            return None
        return failure(421, f"the host {headers.get('host', '')!r} is not served here: --allow-host NAME adds one")

    def _check_rate(self, scope: Scope) -> Response | None:
        client = cast("tuple[str, int] | None", scope.get("client"))
        wait = self._rate_limit.wait(client[0] if client else "", time.monotonic()) if self._rate_limit else 0
        if not wait:
            return None
        message = f"more than {self._settings.requests_per_minute:,} requests a minute: wait {wait} s"
        return failure(429, message, headers={"Retry-After": str(wait)})

    async def _check_caller(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the failure of a request without a token that lets it in. With profiles, set its caller."""
        if self._token is None and self._callers is None:
            return None
        is_api = scope["path"].startswith(_API_PATHS)
        credential = _credential(headers, is_api)
        if self._callers is None:
            if self._token and hmac.compare_digest(credential.encode("utf-8", "replace"), self._token):
                return None
        else:
            try:
                caller = self._callers.of_token(credential)
            except CallerRefused as error:
                return await self._refuse(error, is_api)
            if caller is not None:
                scope[CALLER] = caller
                return None
        return _unauthorized("a token is required: Authorization: Bearer …", is_api)

    async def _refuse(self, error: CallerRefused, is_api: bool) -> Response:
        """Return the failure of a caller who is known, and tell the audit log of it."""
        status = 401 if error.wait_s is None else 429
        try:
            await error.caller.record("", str(status))
        except AuditFailed as failed:
            _logger.error("%s", failed)
        if error.wait_s is None:
            return _unauthorized(str(error), is_api)
        return failure(status, str(error), headers={"Retry-After": str(error.wait_s)})


def _credential(headers: Headers, is_api: bool) -> str:
    """Return the token that a request brings, "" for none, and for several: a proxy may have checked another one."""
    given = headers.getlist("authorization")
    scheme, _, credential = (given[0] if len(given) == 1 else "").partition(" ")
    # A browser cannot send a bearer token; it asks for a name, which may be any, and a password: the token. The API
    # refuses passwords, because browsers send them unasked, even from other sites.
    if not is_api and scheme.lower() == "basic":
        return _password(credential).strip()
    return credential.strip() if scheme.lower() == "bearer" else ""


def _unauthorized(message: str, is_api: bool) -> Response:
    challenge = "Bearer" if is_api else 'Basic realm="quartermaster, any name, the token as password", charset="UTF-8"'
    return failure(401, message, headers={"WWW-Authenticate": challenge})


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


def with_headers(app: ASGIApp, headers: Mapping[str, str]) -> ASGIApp:
    """Wrap an app: add these headers to each answer that does not set them itself."""
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *((n, v) for n, v in raw if n not in present)]
            await send(message)

        await app(scope, receive, add if scope["type"] == "http" else send)

    return answer
