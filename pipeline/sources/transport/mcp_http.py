"""An HTTP client for a live MCP server and what authorizes it: bounded in bytes, and led to no private address."""

import time
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import httpcore2
import httpx2

from pipeline.settings import SourceSettings
from pipeline.sources.naming import location
from pipeline.sources.transport.access import Access
from pipeline.sources.transport.addresses import Reach
from pipeline.sources.transport.allowance import Allowance


def http_client(source: SourceSettings, access: Access, auth: Any, allowance: Allowance) -> httpx2.AsyncClient:
    """Return a client whose answers count in the allowance.

    Authorization servers, which the server names, are held to the same addresses. What goes through a proxy of the
    environment is left to the proxy.
    """
    reach = Reach(f"the MCP server {location(source)!r}", urlsplit(access.url).hostname or "", source.private_hosts)
    client = httpx2.AsyncClient(timeout=source.timeout_s, headers=access.headers, auth=auth)
    # Not the argument `transport`: with it the client would not look for proxies in the environment.
    client._transport = _Transport(_Network(reach, source.timeout_s), allowance)
    for pattern, proxied in client._mounts.items():
        if proxied is not None:
            client._mounts[pattern] = _Proxied(proxied, allowance)
    client.event_hooks = {"request": [_checked(reach)], "response": []}
    return client


def _checked(reach: Reach) -> Any:
    async def check(request: httpx2.Request) -> None:
        reach.check(request.url.host)

    return check


class _Network(httpcore2.AnyIOBackend):
    """Connects to addresses that were checked."""

    def __init__(self, reach: Reach, seconds: float) -> None:
        self._reach = reach
        self._seconds = seconds

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connection to the first address of a host that takes one."""
        seconds = self._seconds if timeout is None else timeout  # requests for tokens have none
        until = time.monotonic() + seconds
        addresses = await anyio.to_thread.run_sync(self._reach.resolve, host, port, seconds, abandon_on_cancel=True)
        for address in addresses[:-1]:
            try:
                return await super().connect_tcp(
                    address, port, max(0.0, until - time.monotonic()), local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        left = max(0.0, until - time.monotonic())
        return await super().connect_tcp(addresses[-1], port, left, local_address, socket_options)


class _Counted(httpx2.AsyncByteStream):
    """A body that counts in the allowance. A stream of events may hold many messages, any other body is one."""

    def __init__(self, body: httpx2.AsyncByteStream, allowance: Allowance, is_message: bool) -> None:
        self._body = body
        self._allowance = allowance
        self._is_message = is_message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for chunk in self._body:
            length += len(chunk)
            self._allowance.take(len(chunk))
            if self._is_message:
                self._allowance.check_message(length)
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _Proxied(httpx2.AsyncBaseTransport):
    """Sends requests by another transport, asks for bodies without compression, and counts them."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, allowance: Allowance) -> None:
        self._inner = inner
        self._allowance = allowance

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer. Raises RunAborted where it is compressed: a few bytes may stand for gigabytes."""
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if (coding := response.headers.get("content-encoding", "identity").strip().lower()) not in ("", "identity"):
            await response.aclose()
            raise self._allowance.fail(f"answered in the encoding {coding[:20]!r}, which it was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_message = not response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Counted(response.stream, self._allowance, is_message)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Transport(_Proxied):
    """Sends requests directly, over a network that checks addresses."""

    def __init__(self, network: _Network, allowance: Allowance) -> None:
        direct = httpx2.AsyncHTTPTransport()
        direct._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(), max_connections=10, network_backend=network
        )
        super().__init__(direct, allowance)
