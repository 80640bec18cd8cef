"""The checks before a request is read: its host, the client's rate, the token and the size of its body."""

import asyncio
import base64
import hmac
import logging
import re
import time

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.audit import AuditFailed
from quartermaster.serving.http.errors import is_api, refusal
from quartermaster.serving.http.settings import PROBES, HttpSettings
from quartermaster.serving.profiles import CALLER, CallerRefused, Callers
from quartermaster.serving.tokens import RateLimit

_CLOSE = {"Connection": "close"}
_logger = logging.getLogger("router.http")
# A Host header: a name or an address, and a port (RFC 9110, 7.2).
_HOST = re.compile(r"([^\s:@/\[\]]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")


class RequestGuard:
    """Refuses requests with 421, 400, 429, 401, 503, 413 and 408, checked in this order; buffers the bodies of others.

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
        headers, probe = Headers(scope=scope), scope["path"] in PROBES
        try:
            self._check_host(headers)
            if not scope.get("query_string", b"").isascii():  # uvicorn refuses it, other servers do not
                raise HTTPException(400, "the query has bytes beyond ASCII: percent-encode them")
            if not probe:
                self._check_rate(scope)
                await self._check_caller(scope, headers)
                self._check_busy()
                receive = _replay(await self._read_body(headers, receive), receive)
                self._check_busy()  # again: others may have come while the body did
        except HTTPException as error:
            refused = refusal(scope, error.status_code, error.detail, headers=error.headers)
            await refused(scope, receive, send)
            return
        if probe:
            await self._app(scope, receive, send)
            return
        self._running += 1  # only now: bodies that drip keep no other request out
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1

    def _check_host(self, headers: Headers) -> None:
        given = headers.get("host", "")
        host = _HOST.fullmatch(given)
        if "*" not in self._hosts and not (host and host[1].strip("[]").lower() in self._hosts):
            raise HTTPException(421, f"the host {given!r} is not served here: --allow-host NAME adds one")

    def _check_rate(self, scope: Scope) -> None:
        address = scope["client"][0] if scope.get("client") else ""
        if self._rate_limit and (wait := self._rate_limit.wait(address, time.monotonic())):
            message = f"more than {self._settings.requests_per_minute:,} requests a minute: wait {wait} s"
            raise HTTPException(429, message, {"Retry-After": str(wait)})

    async def _check_caller(self, scope: Scope, headers: Headers) -> None:
        """Refuse a request without a token that lets it in. With profiles, set its caller."""
        if self._token is None and self._callers is None:
            return
        credential, caller = _credential(headers, scope), None
        if self._callers is None:
            if self._token and hmac.compare_digest(credential.encode("utf-8", "replace"), self._token):
                return
        else:
            try:
                caller = self._callers.of_token(credential)
            except CallerRefused as error:
                await self._refuse_known(error, scope)
        if caller is None:
            raise _unauthorized("a token is required: Authorization: Bearer …", scope)
        scope[CALLER] = caller

    async def _refuse_known(self, error: CallerRefused, scope: Scope) -> None:
        """Refuse a caller who is known, and write that to the audit log."""
        try:
            await error.caller.record("", "401" if error.wait_s is None else "429")
        except AuditFailed as failed:
            _logger.error("%s", failed)
        if error.wait_s is None:
            raise _unauthorized(str(error), scope)
        raise HTTPException(429, str(error), {"Retry-After": str(error.wait_s)})

    def _check_busy(self) -> None:
        if self._running >= self._settings.max_concurrent:
            busy = f"the server answers {self._running} requests at a time, and that many are under way: try again"
            raise HTTPException(503, busy, {"Retry-After": "1"})

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body. Raises HTTPException if it is too large or does not arrive."""
        limit, declared, parts = self._settings.max_request_bytes, headers.get("content-length", ""), bytearray()
        too_large = HTTPException(413, f"the body is larger than {limit:,} bytes", _CLOSE)
        if declared.isdigit() and int(declared) > limit:
            raise too_large
        try:
            async with asyncio.timeout(self._settings.body_timeout_s):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HTTPException(400, "the client left before its request was complete")
                    parts += message.get("body", b"")
                    if len(parts) > limit:
                        raise too_large
                    more = message.get("more_body", False)
        except TimeoutError:
            slow = f"the body did not come within {self._settings.body_timeout_s:g} s"
            raise HTTPException(408, slow, _CLOSE) from None
        return bytes(parts)


def _credential(headers: Headers, scope: Scope) -> str:
    """Return the token that a request brings, "" for none, and for several: a proxy may have checked another one."""
    given = headers.getlist("authorization")
    scheme, _, credential = (given[0] if len(given) == 1 else "").partition(" ")
    # A browser cannot send a bearer token; it asks for a name, which may be any, and a password: the token. The API
    # refuses passwords, because browsers send them unasked, even from other sites.
    if scheme.lower() == "basic" and not is_api(scope):
        try:
            return base64.b64decode(credential, validate=True).decode("utf-8").partition(":")[2].strip()
        except ValueError:  # neither base64 nor UTF-8
            return ""
    return credential.strip() if scheme.lower() == "bearer" else ""


def _unauthorized(message: str, scope: Scope) -> HTTPException:
    basic = 'Basic realm="quartermaster, any name, the token as password", charset="UTF-8"'
    return HTTPException(401, message, {"WWW-Authenticate": "Bearer" if is_api(scope) else basic})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the buffered body first, then whatever the client sends next."""
    first: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def replay() -> Message:
        nonlocal first
        message, first = first, None
        return message if message is not None else await receive()

    return replay
