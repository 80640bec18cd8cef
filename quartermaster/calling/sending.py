"""Send one request, bounded in time and bytes, and follow nothing.

The transport is used without its client: that would log URLs, keep cookies, read proxies and passwords from the
environment, and follow redirects.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread

from quartermaster.addresses import is_private_name, is_public, literal_address, looked_up
from quartermaster.calling.errors import CallFailed, CallRefused
from quartermaster.calling.requests import HttpRequest

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 3


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer of a server: its status, headers by lower-case name, and its whole body."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def media_type(self) -> str:
        """Return the media type of the body in lower case, without parameters; empty where none is given."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()


async def send(
    request: HttpRequest, *, timeout_s: float, max_bytes: int, public_only: bool = False, follow_redirects: bool = False
) -> HttpAnswer:
    """Return the answer to a request, whose body has at most `max_bytes`.

    `public_only` refuses servers that are not on the public internet. Raises CallRefused for such a server, and
    CallFailed where there is no answer within the limits.
    """
    is_safe = request.method in ("GET", "HEAD")
    doubt = "" if is_safe else " It is not known whether the call took effect: look before it is repeated."
    origin = origin_of(request.url)
    try:
        with anyio.fail_after(timeout_s):
            for _ in range(_MAX_REDIRECTS + 1):
                answer = await _exchange(request, max_bytes, public_only, doubt)
                target = _redirect(request, answer) if follow_redirects and is_safe else None
                if target is None:
                    return answer
                request = target
    except TimeoutError:
        raise CallFailed(f"{origin} did not answer within {timeout_s:g} s.{doubt}") from None
    raise CallFailed(f"{origin} redirected more than {_MAX_REDIRECTS} times")


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a URL, which hold no secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def _exchange(request: HttpRequest, max_bytes: int, public_only: bool, doubt: str) -> HttpAnswer:
    import httpx2

    parts, origin = urlsplit(request.full_url), origin_of(request.url)
    host = parts.hostname or ""
    address = await _public_address(host, parts.port or (443 if parts.scheme == "https" else 80)) if public_only else ""
    sent = httpx2.Request(
        request.method,
        # The checked address is the one that is connected to: a second look-up might give another.
        httpx2.URL(origin).copy_with(host=address or host),
        headers={"Host": parts.netloc, **request.all_headers},
        content=request.body or None,
        # The path and the query as they were made: nothing rewrites them. There are no time-outs: `send` bounds it all.
        extensions={
            "sni_hostname": host,
            "target": f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}".encode("ascii"),
        },
    )
    body = bytearray()
    async with httpx2.AsyncHTTPTransport(verify=_tls()) as transport:
        try:
            response = await transport.handle_async_request(sent)
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            try:
                headers = {name.lower(): value for name, value in response.headers.items()}
                if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                    raise CallFailed(f"{origin} sent a compressed answer, which nobody asked for.{doubt}")
                async for chunk in response.stream:
                    body += chunk
                    if len(body) > max_bytes:
                        raise CallFailed(
                            f"{origin} sent an answer of more than {max_bytes:,} bytes (max_response_bytes): ask for "
                            f"less, such as a smaller page.{doubt}"
                        )
            finally:
                await response.aclose()
        except httpx2.ConnectError as error:
            raise CallFailed(f"{origin} could not be reached ({type(error).__name__}): nothing was sent") from None
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            raise CallFailed(f"the exchange with {origin} broke off ({type(error).__name__}).{doubt}") from None
    return HttpAnswer(response.status_code, headers, bytes(body))


async def _public_address(host: str, port: int) -> str:
    """Return an address of a host, all of whose addresses are public. Raises CallRefused, and CallFailed for none."""
    addresses: list[str] = []
    if not is_private_name(host):
        literal = literal_address(host)
        addresses = (
            [str(literal)] if literal else await anyio.to_thread.run_sync(looked_up, host, port, abandon_on_cancel=True)
        )
        if not addresses:
            raise CallFailed(f"{host} has no address: nothing was sent")
    found = [literal_address(address) for address in addresses]
    if not found or any(address is None or not is_public(address) for address in found):
        raise CallRefused(
            f"the document's server is {host}, which is of this machine or a private network: where that is right, "
            "write it as base_url in the settings of calls"
        )
    return addresses[0]


def _redirect(request: HttpRequest, answer: HttpAnswer) -> HttpRequest | None:
    """Return the request that a redirect within the same origin leads to; None for any other answer."""
    location = answer.headers.get("location", "")
    if answer.status not in _REDIRECTS or not location.isascii() or not location.isprintable():
        return None
    try:
        url = urlsplit(urljoin(request.full_url, location))._replace(fragment="").geturl()
    except ValueError:  # no URL
        return None
    if origin_of(url) != origin_of(request.url) or " " in url:
        return None
    return replace(request, url=url, parts=request.parts._replace(query=()))


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Return the TLS settings of all requests: reading the authorities takes longer than a request."""
    import httpx2

    return httpx2.create_ssl_context()
