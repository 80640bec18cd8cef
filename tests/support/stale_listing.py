"""Listings of a bucket as it was some seconds ago: an object store whose LIST follows its writes late."""

import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

from tests.support.http_exchange import Answer

_NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"
_FIELDS = ("Key", "LastModified", "ETag", "Size")
Ask = Callable[[str, str], Answer]


@dataclass(frozen=True)
class Listed:
    """An object as a listing shows it: S3's four fields, as texts."""

    Key: str
    LastModified: str
    ETag: str
    Size: str


@dataclass
class History:
    """Remembers when objects were first written and when they were deleted, by their path (bucket and key)."""

    _written: dict[str, float] = field(default_factory=dict)
    _deleted: dict[str, tuple[float, Listed]] = field(default_factory=dict)
    _doomed: dict[str, Listed] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def before(self, ask: Ask, method: str, path: str, body: bytes) -> None:
        """Look at the objects that a request will delete."""
        for doomed in _deletions(method, path, body):
            answer = ask("HEAD", quote(doomed))
            if answer.status == 200:
                headers = {name.lower(): value for name, value in answer.headers}
                with self._lock:
                    self._doomed[doomed] = Listed(
                        doomed.split("/", 2)[2],
                        time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
                        headers.get("etag", ""),
                        headers.get("content-length", "0"),
                    )

    def after(self, method: str, path: str, status: int) -> None:
        """Remember what a request that was done has changed."""
        if not 200 <= status < 300:
            return
        place, now = unquote(urlsplit(path).path), time.monotonic()
        with self._lock:
            # What a stale listing hides is new: an object that was overwritten was listed before, too.
            if method in ("PUT", "POST") and place not in self._known:
                self._known.add(place)
                self._written[place] = now
            if method in ("DELETE", "POST"):
                for doomed in [name for name in self._doomed if method == "POST" or name == place]:
                    self._deleted[doomed] = now, self._doomed.pop(doomed)
                    self._known.discard(doomed)

    def listing(self, ask: Ask, path: str, query: Mapping[str, str], seconds: float) -> Answer:
        """Return the answer to a LIST as it was so many seconds ago, on one page."""
        bucket = unquote(urlsplit(path).path).strip("/")
        prefix, then = query.get("prefix", ""), time.monotonic() - seconds
        now = _whole_listing(ask, bucket, prefix)
        with self._lock:
            shown = {one.Key: one for one in now if self._written.get(f"/{bucket}/{one.Key}", -1.0) <= then}
            for place, (when, one) in self._deleted.items():
                if when > then and place == f"/{bucket}/{one.Key}" and one.Key.startswith(prefix):
                    shown.setdefault(one.Key, one)
        body = _rendered(bucket, prefix, query.get("delimiter", ""), shown)
        return Answer(200, [("content-type", "application/xml")], body)


def _deletions(method: str, path: str, body: bytes) -> Iterator[str]:
    """Yield the paths of the objects that a request deletes."""
    url = urlsplit(path)
    if method == "DELETE":
        yield unquote(url.path)
    elif method == "POST" and url.query.startswith("delete"):
        for key in ET.fromstring(body).iter():
            if key.tag.rpartition("}")[2] == "Key":
                yield f"{unquote(url.path).rstrip('/')}/{key.text}"


def _whole_listing(ask: Ask, bucket: str, prefix: str) -> list[Listed]:
    """Return all objects under a prefix, page by page."""
    found: list[Listed] = []
    token: dict[str, str] = {}
    while True:
        answer = ask("GET", f"/{bucket}?" + urlencode({"list-type": "2", "prefix": prefix, **token}))
        root = ET.fromstring(answer.body)
        for one in root.iter(f"{_NAMESPACE}Contents"):
            found.append(Listed(*(one.findtext(f"{_NAMESPACE}{name}") or "" for name in _FIELDS)))
        if root.findtext(f"{_NAMESPACE}IsTruncated") != "true":
            return found
        token = {"continuation-token": root.findtext(f"{_NAMESPACE}NextContinuationToken") or ""}


def _rendered(bucket: str, prefix: str, delimiter: str, shown: Mapping[str, Listed]) -> bytes:
    """Return the XML of a listing, its keys in order; with a delimiter, folders stand for what lies in them."""
    folders: set[str] = set()
    parts = []
    for key, one in sorted(shown.items()):
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
        else:
            fields = "".join(f"<{name}>{escape(getattr(one, name))}</{name}>" for name in _FIELDS)
            parts.append(f"<Contents>{fields}<StorageClass>STANDARD</StorageClass></Contents>")
    parts += [f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(shown)}</KeyCount>"
        f"<MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{''.join(parts)}</ListBucketResult>"
    ).encode()
