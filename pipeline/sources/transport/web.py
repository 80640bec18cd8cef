"""Get the document behind a URL, within bounds of time and size; headers go only to the configured host."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import SourceSettings
from pipeline.sources.naming import MAX_BYTES, redacted, subject, too_large, too_late
from pipeline.sources.transport.access import Access
from pipeline.sources.transport.compression import Gunzip

_CHUNK = 65_536
_MAX_REDIRECTS = 10
_ENCODING = {"Accept-Encoding": "gzip"}
_PORTS = {"http": 80, "https": 443}


class _Session(requests.Session):
    """Follows no redirect: requests itself reads the body of each to its end, and takes every header but Authorization
    to another host."""

    def resolve_redirects(self, *_: Any, **__: Any) -> Iterator[Any]:
        """Follow none."""
        return iter(())


def get(source: SourceSettings, access: Access) -> tuple[str, bytes]:
    """Return the content type and the body behind a URL. Raises Unavailable where they may come another time, else
    RunAborted."""
    until = time.monotonic() + source.timeout_s
    body = bytearray()
    # None of these errors is kept as the cause: each quotes the whole URL.
    try:
        with _Session() as session, _answer(session, source, access, until) as response:
            if not 200 <= response.status_code < 300:
                kind = Unavailable if response.status_code == 429 or response.status_code >= 500 else RunAborted
                answer = f"{response.status_code} {redacted(response.reason or '', source, access.secrets)}".strip()
                raise kind(f"{subject(source)} answered {answer}")
            # urllib3 takes a gzip body that breaks off for a whole one.
            packed = response.headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip")
            gunzip = Gunzip() if packed else None
            # Not iter_content: it waits for a whole chunk, and a server that drips would never meet the time limit.
            while chunk := response.raw.read1(_CHUNK, decode_content=not packed):
                body += gunzip.feed(chunk) if gunzip else chunk
                if len(body) > MAX_BYTES:
                    raise too_large(source)
                if time.monotonic() > until:
                    raise too_late(source)
            if gunzip and not gunzip.complete:
                raise Unavailable(f"{subject(source)} broke off: its gzip body has no end")
            return response.headers.get("content-type", ""), bytes(body)
    except (requests.Timeout, ReadTimeoutError):
        raise too_late(source) from None
    except requests.exceptions.SSLError:
        raise RunAborted(f"{subject(source)} has a certificate that cannot be trusted") from None
    except requests.ConnectionError:
        raise Unavailable(f"{subject(source)} could not be reached") from None
    except (requests.RequestException, DecodeError, ValueError) as error:
        raise RunAborted(f"{subject(source)} could not be read: {type(error).__name__}") from None
    except HTTPError as error:
        raise Unavailable(f"{subject(source)} broke off: {type(error).__name__}") from None


def _answer(session: requests.Session, source: SourceSettings, access: Access, until: float) -> requests.Response:
    """Return the answer behind all redirects, whose bodies are not read."""
    # No other encoding: whether a body of it is whole would not be known.
    url, headers = access.url, {**_ENCODING, **access.headers}
    auth: Any = user if any(user := requests.utils.get_auth_from_url(url)) else None
    if any(name.lower() == "authorization" for name in headers):
        auth = _as_it_is  # else a user in the URL, or of ~/.netrc, would replace the header
    for _ in range(_MAX_REDIRECTS + 1):
        if (left := until - time.monotonic()) <= 0:
            raise too_late(source)
        response = session.get(url, headers=headers, auth=auth, stream=True, timeout=left, allow_redirects=False)
        if not response.is_redirect:
            return response
        response.close()
        to = urljoin(url, response.headers["location"])
        if not _same_server(url, to):
            headers, auth = dict(_ENCODING), None  # and never again, wherever it leads from there
        url = to
    raise requests.TooManyRedirects


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _same_server(url: str, other: str) -> bool:
    """Return whether both are of one scheme, host and port, or the second is the same host by https instead of http."""
    (scheme, host, port), to = _origin(url), _origin(other)
    return (scheme, host, port) == to or (scheme == "http" and port == 80 and to == ("https", host, 443))


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
