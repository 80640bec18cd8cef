"""Ask servers over HTTP, bounded in time and bytes, and led to no private address.

A host is looked up once, its addresses are checked, and the connection goes to one of those: a second look-up could
give another. `Transport` is used without httpx's client where a document is fetched: that would log addresses with
their queries, keep cookies and follow redirects.
"""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import anyio
import anyio.to_thread
import httpx2

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.naming import redacted, subject, too_large, too_late
from pipeline.sources.transport.access import Access
from pipeline.sources.transport.answers import Address, Answer, Page, is_part, next_link
from quartermaster.addresses import is_private_name, is_public, literal_address, looked_up

T = TypeVar("T")
_PORTS = {"http": 80, "https": 443}
# No encoding but gzip: whether a body of another is whole would not be known.
_OWN = {"Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "quartermaster"}


class Reach:
    """The hosts and addresses that a source may lead to: not from a public URL to this machine or a private network.

    A host that `catalog.toml` itself writes as a private address, such as 127.0.0.1 or `localhost`, is the operator's
    word. `subject` names the source in messages, `host` is that of its own URL.
    """

    def __init__(self, subject: str, host: str, private_hosts: tuple[str, ...] = ()) -> None:
        self._subject = subject
        self._private = {name.lower() for name in (*private_hosts, *([host] if is_private_name(host) else []))}

    def check(self, host: str, addresses: Sequence[str] = ()) -> None:
        """Raise RunAborted where a host has an address that the source may not lead to, or is written as one."""
        found = [literal_address(one) for one in (host, *addresses)]
        private = next((one for one in found if one is not None and not is_public(one)), None)
        if private is not None and host.lower() not in self._private:
            where = "" if host == str(private) else f", which is {private}"
            raise RunAborted(
                f"{self._subject} leads to {host!r}{where}: an address of this machine or a private network. If that "
                f'is right, write private_hosts = ["{host}"] under its [[source]]'
            )

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host. Raises RunAborted as `check` does, Unavailable where it has none."""
        addresses = await anyio.to_thread.run_sync(looked_up, host, port, abandon_on_cancel=True)
        if not addresses:
            raise Unavailable(f"{self._subject} could not be reached: {host!r} has no address")
        self.check(host, addresses)
        return addresses


class Transport(httpx2.AsyncBaseTransport):
    """Sends requests to addresses that were checked; without a `reach`, to any.

    What goes through a proxy of the environment is left to the proxy. Each host has its own connections, so that
    none is used for another host of the same address.
    """

    def __init__(self, reach: Reach | None = None) -> None:
        self._reach = reach
        self._pools: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer of the first address that takes a connection."""
        url = request.url
        if self._reach is not None:
            self._reach.check(url.host)
        proxy = _proxy(url)
        if (pool := self._pools.get(proxy or url.host)) is None:
            pool = self._pools[proxy or url.host] = httpx2.AsyncHTTPTransport(proxy=proxy)
        if proxy is not None or self._reach is None:
            return await pool.handle_async_request(request)
        *others, last = await self._reach.resolve(url.host, url.port or _PORTS.get(url.scheme, 0))
        for address in others:
            try:
                return await pool.handle_async_request(_addressed(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await pool.handle_async_request(_addressed(request, last))

    async def aclose(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            await pool.aclose()


def _addressed(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return a request to one address; the header Host and TLS name the host as before."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )


def _proxy(url: httpx2.URL) -> str | None:
    """Return the proxy that the environment names for a URL."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


class Allowance:
    """What a live server may send in one listing; `subject` names it in messages.

    `failure` is set where it sends more, and `scope` is cancelled: the MCP client logs some errors, and waits on.
    `status` is that of the last answer to a message: the client's error does not tell a busy server from one that
    refuses.
    """

    failure: RunAborted | None = None
    scope: anyio.CancelScope
    status = 0

    def __init__(self, limits: LimitsSettings, subject: str) -> None:
        self.limits = limits
        self._subject = subject
        self._left = limits.document_bytes

    def fail(self, what: str) -> RunAborted:
        """End the listing. Returns the error that says what the server did, to be raised."""
        self.failure = self.failure or RunAborted(f"{self._subject} {what}")
        self.scope.cancel()
        return self.failure

    async def bound(self, response: httpx2.Response) -> None:
        """Count a response's body as it is read. Raises RunAborted where it is compressed, or too long.

        A stream of events may hold many messages, which the SDK bounds; any other body is one.
        """
        asked = response.request
        if asked.method == "POST" and "text/event-stream" in asked.headers.get("accept", ""):  # not one for a token
            self.status = response.status_code
        if (coding := _coding(response)) != "identity":
            await response.aclose()
            raise self.fail(f"answered in the encoding {coding[:20]!r}, which it was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_message = not response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Counted(response.stream, self, is_message)

    def take(self, count: int, message: int) -> None:
        """Count bytes, which bring one message to so many. Raises RunAborted where there are too many."""
        self._left -= count
        if self._left < 0:
            raise self.fail(f"sent more than the {self.limits.document_bytes:,} bytes of limits.document_bytes")
        if message > (most := self.limits.message_bytes):
            raise self.fail(f"sent a message of more than the {most:,} bytes of limits.message_bytes")


@dataclass
class _Counted(httpx2.AsyncByteStream):
    body: httpx2.AsyncByteStream
    allowance: Allowance
    is_message: bool

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for chunk in self.body:
            length += len(chunk)
            self.allowance.take(len(chunk), length if self.is_message else 0)
            yield chunk

    async def aclose(self) -> None:
        await self.body.aclose()


def _coding(response: httpx2.Response) -> str:
    """Return how a body is encoded, in small letters; "identity" where it is not."""
    return response.headers.get("content-encoding", "").strip().lower() or "identity"


def get(source: SourceSettings, access: Access, limits: LimitsSettings, page: Page | None = None) -> Answer:
    """Return the answer of a URL, or of a `page`.

    Raises Unavailable where another try may help, else RunAborted.
    """
    try:
        return finished(_get(source, access, limits, page))
    except TimeoutError:
        raise too_late(source) from None
    # None of these errors is kept as the cause: each may quote the whole URL.
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        if is_untrusted(error):
            raise RunAborted(f"{subject(source)} has a certificate that cannot be trusted") from None
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            raise Unavailable(f"{subject(source)} could not be reached") from None
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError | OSError):
            raise Unavailable(f"{subject(source)} broke off: {type(error).__name__}") from None
        raise RunAborted(f"{subject(source)} could not be read: {type(error).__name__}") from None


def finished(asking: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine gives, also where this thread has an event loop already, as that of a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asking)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asking).result()


async def _get(source: SourceSettings, access: Access, limits: LimitsSettings, page: Page | None) -> Answer:
    url = httpx2.URL(access.url)
    at = _led(*page, source, "leads its next page to") if page else (access.url, with_user(url, access.headers))
    with anyio.fail_after(source.timeout_s):
        async with Transport(Reach(subject(source), url.host, source.private_hosts)) as transport:
            response, at = await _answer(transport, at, source, limits)
            status, headers = response.status_code, response.headers
            if status not in (200, 203) or is_part(headers.get("content-range", "")):
                part = ", which is not the whole document" if response.is_success else ""
                kind = Unavailable if part or status == 429 or status >= 500 else RunAborted
                answer = f"{status} {redacted(response.reason_phrase, source, access.secrets)}".strip()
                raise kind(f"{subject(source)} answered {answer}{part}")
            body = await _body(response, source, limits)
            return Answer(headers.get("content-type", ""), body, at, next_link(headers.get("link", "")))


async def _answer(
    transport: Transport, at: Address, source: SourceSettings, limits: LimitsSettings
) -> tuple[httpx2.Response, Address]:
    """Return the answer behind all redirects, whose bodies are not read, and the address that gave it."""
    for _ in range(limits.redirects + 1):
        sent = httpx2.Headers(_OWN)
        sent.update(at[1])
        response = await transport.handle_async_request(httpx2.Request("GET", at[0], headers=sent))
        if not response.has_redirect_location:
            return response, at
        await response.aclose()
        at = _led(at, response.headers["location"], source, "redirects to")
    raise RunAborted(f"{subject(source)} redirects more than the {limits.redirects} times that limits.redirects allows")


def _led(at: Address, link: str, source: SourceSettings, leads: str) -> Address:
    """Return the address that a server leads to. Raises RunAborted where the source may not go there."""
    url, headers = httpx2.URL(at[0]), at[1]
    to = url.join(link)
    if to.scheme not in _PORTS:
        raise RunAborted(f"{subject(source)} {leads} an address that is not http or https")
    if not _same_server(url, to):
        if to.host not in {name.lower() for name in source.redirect_hosts}:
            raise RunAborted(
                f"{subject(source)} {leads} another server, {to.host[:100]!r}: if that is right, write "
                f'redirect_hosts = ["{to.host[:100]}"] under its [[source]]'
            )
        headers = {}  # and never again, wherever it leads from there
    return str(to), headers


def with_user(url: httpx2.URL, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request to a URL: with its user and password, unless they say who asks themselves."""
    if not url.userinfo or any(name.lower() == "authorization" for name in headers):
        return dict(headers)
    user = b64encode(f"{url.username}:{url.password}".encode()).decode()
    return {"Authorization": f"Basic {user}", **headers}


def _same_server(url: httpx2.URL, other: httpx2.URL) -> bool:
    """Return whether both are of one scheme, host and port, or the second is the same host by https instead of http."""
    to = (other.scheme, other.host, other.port)
    return to == (url.scheme, url.host, url.port) or (url.scheme == "http" and to == ("https", url.host, url.port))


async def _body(response: httpx2.Response, source: SourceSettings, limits: LimitsSettings) -> bytes:
    """Return the whole body, packed as it came. Raises RunAborted where it is too large."""
    coding = _coding(response)
    if coding not in ("identity", "gzip", "x-gzip"):
        raise RunAborted(f"{subject(source)} answered in the encoding {coding[:20]!r}, which it was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limits.document_bytes:
            raise too_large(source, limits)
    return bytes(body)


def is_untrusted(error: BaseException | None) -> bool:
    """Return whether a connection failed for the server's certificate."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
