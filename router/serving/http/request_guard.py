"""What a request passes before anything reads it: its host, the client's rate, the token, the size of its body."""

import asyncio
import base64
import hmac
import re
import time
from collections.abc import Mapping
from typing import cast

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.serving.http.errors import failure
from router.serving.http.rate import Rate
from router.serving.http.settings import PROBES, HttpSettings

_API = ("/v1/", "/mcp")
# A name or an address, and a port (RFC 9110, 7.2).
_HOST = re.compile(r"([^\s:@/\[\]]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")


class RequestGuard:
    """Refuses by 421, 429, 401, 503, 413 and 408, in this order; buffers the body of what passes.

    A body is counted as it comes, whatever its length is said to be. Tokens are compared in constant time, and after
    the rate, so that they cannot be guessed faster than that.
    """

    def __init__(self, app: ASGIApp, settings: HttpSettings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = settings.known_hosts
        self._rate = Rate(settings.requests_per_minute) if settings.requests_per_minute else None
        self._token = settings.token.encode() if settings.token else None
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on with its body at hand."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        probe = scope["path"] in PROBES
        refused = self._foreign(headers) or (None if probe else self._hurried(scope) or self._unknown(scope, headers))
        if refused is not None:
            await refused(scope, receive, send)
        elif probe:
            await self._app(scope, receive, send)
        elif self._running >= self._settings.max_concurrent:
            busy = f"the server answers {self._running} requests at a time, and that many are under way: try again"
            await failure(503, busy, headers={"Retry-After": "1"})(scope, receive, send)
        else:
            self._running += 1
            try:
                await self._pass(scope, headers, receive, send)
            finally:
                self._running -= 1

    async def _pass(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        most = self._settings.max_request_bytes
        said = headers.get("content-length", "")
        body = None if said.isdigit() and int(said) > most else await self._body(receive)
        if body is None:
            too_large = failure(413, f"the body is larger than {most:,} bytes", headers={"Connection": "close"})
            await too_large(scope, receive, send)
        elif isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | Response | None:
        """The whole body; None where it is too large, the refusal where it does not come."""
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
            slow = f"the body did not come within {self._settings.body_timeout_s:g} s"
            return failure(408, slow, headers={"Connection": "close"})

    def _foreign(self, headers: Headers) -> Response | None:
        if "*" in self._hosts:
            return None
        named = _HOST.fullmatch(headers.get("host", ""))
        if named and named[1].strip("[]").lower() in self._hosts:
            return None
        return failure(421, f"the host {headers.get('host', '')!r} is not served here: --allow-host NAME adds one")

    def _hurried(self, scope: Scope) -> Response | None:
        client = cast("tuple[str, int] | None", scope.get("client"))
        wait = self._rate.wait(client[0] if client else "", time.monotonic()) if self._rate else 0
        if not wait:
            return None
        limit = f"more than {self._settings.requests_per_minute:,} requests a minute: wait {wait} s"
        return failure(429, limit, headers={"Retry-After": str(wait)})

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        if self._token is None:
            return None
        api = scope["path"].startswith(_API)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # A browser cannot be told to send a bearer token; it asks for a name, any, and a password: the token. Not so
        # for the API: what a browser sends by itself must change nothing.
        if not api and scheme.lower() == "basic":
            given = _password(given)
        elif scheme.lower() != "bearer":
            given = ""
        if hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token):
            return None
        challenge = "Bearer" if api else 'Basic realm="quartermaster, any name, the token as password", charset="UTF-8"'
        message = "a token is required: Authorization: Bearer …"
        return failure(401, message, headers={"WWW-Authenticate": challenge})


def _password(given: str) -> str:
    try:
        return base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2]
    except ValueError:  # no base64, or no UTF-8 in it
        return ""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that has come, once more; then whatever the client does next."""
    first: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def replay() -> Message:
        nonlocal first
        message, first = first, None
        return message if message is not None else await receive()

    return replay


def with_headers(app: ASGIApp, headers: Mapping[str, str]) -> ASGIApp:
    """An app whose every answer has these headers, where it does not set them itself."""
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *((n, v) for n, v in raw if n not in own)]
            await send(message)

        await app(scope, receive, add if scope["type"] == "http" else send)

    return answer
