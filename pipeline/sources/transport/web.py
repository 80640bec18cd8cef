"""Get the document behind a URL, within bounds of time and size; headers go only to the configured host."""

from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.naming import redacted, subject, too_large, too_late
from pipeline.sources.transport.access import Access
from pipeline.sources.transport.addresses import Reach
from pipeline.sources.transport.compression import Gunzip
from pipeline.sources.transport.http_session import DeadlineSession

_CHUNK = 65_536
_ENCODING = {"Accept-Encoding": "gzip"}
_PORTS = {"http": 80, "https": 443}


def get(source: SourceSettings, access: Access, limits: LimitsSettings) -> tuple[str, bytes]:
    """Return the content type and the body behind a URL. Raises Unavailable where they may come another time, else
    RunAborted."""
    reach = Reach(subject(source), urlsplit(access.url).hostname or "", source.private_hosts)
    with DeadlineSession(source.timeout_s, reach) as session:
        # None of these errors is kept as the cause: each quotes the whole URL.
        try:
            with _answer(session, source, access, limits, reach) as response:
                _check_status(response, source, access)
                body = _body(session, response, source, limits)
                return response.headers.get("content-type", ""), body
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            raise too_late(source) if session.is_late else _failure(error, source) from None


def _failure(error: Exception, source: SourceSettings) -> RunAborted:
    """Return what an error of the libraries means for a source."""
    if isinstance(error, requests.Timeout | ReadTimeoutError):
        return too_late(source)
    if isinstance(error, requests.exceptions.SSLError):
        return RunAborted(f"{subject(source)} has a certificate that cannot be trusted")
    if isinstance(error, requests.ConnectionError):
        return Unavailable(f"{subject(source)} could not be reached")
    if isinstance(error, requests.RequestException | DecodeError | ValueError):
        return RunAborted(f"{subject(source)} could not be read: {type(error).__name__}")
    return Unavailable(f"{subject(source)} broke off: {type(error).__name__}")


def _check_status(response: requests.Response, source: SourceSettings, access: Access) -> None:
    if not 200 <= response.status_code < 300:
        kind = Unavailable if response.status_code == 429 or response.status_code >= 500 else RunAborted
        answer = f"{response.status_code} {redacted(response.reason or '', source, access.secrets)}".strip()
        raise kind(f"{subject(source)} answered {answer}")


def _body(
    session: DeadlineSession, response: requests.Response, source: SourceSettings, limits: LimitsSettings
) -> bytes:
    """Return the whole body, decompressed. Raises RunAborted where it is too large, Unavailable where it breaks off."""
    body = bytearray()
    # urllib3 takes a gzip body that breaks off for a whole one.
    packed = response.headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip")
    gunzip = Gunzip(limits.document_bytes) if packed else None
    # Not iter_content: it waits for a whole chunk.
    while chunk := response.raw.read1(_CHUNK, decode_content=not packed):
        body += gunzip.feed(chunk) if gunzip else chunk
        if len(body) > limits.document_bytes:
            raise too_large(source, limits)
        if session.is_late:
            raise too_late(source)
    if session.is_late:  # cut, not ended
        raise too_late(source)
    if gunzip and not gunzip.complete:
        raise Unavailable(f"{subject(source)} broke off: its gzip body has no end")
    return bytes(body)


def _answer(
    session: DeadlineSession, source: SourceSettings, access: Access, limits: LimitsSettings, reach: Reach
) -> requests.Response:
    """Return the answer behind all redirects, whose bodies are not read."""
    # No other encoding: whether a body of it is whole would not be known.
    url, headers = access.url, {**_ENCODING, **access.headers}
    auth: Any = user if any(user := requests.utils.get_auth_from_url(url)) else None
    if any(name.lower() == "authorization" for name in headers):
        auth = _as_it_is  # else a user in the URL, or of ~/.netrc, would replace the header
    for _ in range(limits.redirects + 1):
        if session.is_late:
            raise too_late(source)
        reach.check(urlsplit(url).hostname or "")
        response = session.get(
            url, headers=headers, auth=auth, stream=True, timeout=session.left or 0.001, allow_redirects=False
        )
        if not response.is_redirect:
            return response
        response.close()
        to = urljoin(url, response.headers["location"])
        if not _same_server(url, to):
            _check_redirect(source, to)
            headers, auth = dict(_ENCODING), None  # and never again, wherever it leads from there
        url = to
    raise RunAborted(f"{subject(source)} redirects more than the {limits.redirects} times that limits.redirects allows")


def _check_redirect(source: SourceSettings, to: str) -> None:
    """Raise RunAborted where a redirect leads to another server than the settings name."""
    parts = urlsplit(to)
    host = parts.hostname or ""
    if parts.scheme in _PORTS and host not in {name.lower() for name in source.redirect_hosts}:
        raise RunAborted(
            f"{subject(source)} redirects to another server, {host[:100]!r}: if that is right, write redirect_hosts = "
            f'["{host[:100]}"] under its [[source]]'
        )


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _same_server(url: str, other: str) -> bool:
    """Return whether both are of one scheme, host and port, or the second is the same host by https instead of http."""
    (scheme, host, port), to = _origin(url), _origin(other)
    return (scheme, host, port) == to or (scheme == "http" and port == 80 and to == ("https", host, 443))


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
