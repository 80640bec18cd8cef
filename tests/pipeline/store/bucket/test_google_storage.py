"""CURRENT in Google Cloud Storage, which compares generations where S3 compares ETags."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.snapshot.store.bucket.objects import ObjectChanged, Objects
from tests.support.api_server import Received, Reply, api_server

_OBJECT = "CURRENT"


class GoogleStorage:
    """Objects by the XML interface of Google Cloud Storage, with the condition that it has for writes."""

    def __init__(self) -> None:
        self._stored: dict[str, tuple[bytes, int]] = {}  # by path: the content and its generation

    def answer(self, request: Received) -> Reply:
        data, generation = self._stored.get(request.path, (b"", 0))
        if request.method == "PUT":
            if int(request.headers.get("x-goog-if-generation-match", generation)) != generation:
                return Reply(b"", 412)
            data, generation = self._stored[request.path] = request.body, generation + 1
        elif not generation:
            return Reply(b"", 404)
        etag = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        if request.headers.get("if-none-match") == etag:
            return Reply(b"", 304)
        told = {"ETag": etag, "x-goog-generation": str(generation), "Last-Modified": "Wed, 21 Oct 2026 07:28:00 GMT"}
        return Reply(data if request.method == "GET" else b"", headers=told)


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Objects]:
    """The objects of a catalog at an address of Google Cloud Storage."""
    with api_server(GoogleStorage().answer) as server:
        account = {"gcs_base_url": server.url, "disable_oauth": True}
        secrets = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        (tmp_path / "account.json").write_text(json.dumps({**account, **secrets}))
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # which allows HTTP
        yield Objects("gs://bucket/catalogs/office", patience_s=1.0)


def test_an_object_is_replaced_by_whoever_read_it_last_whatever_its_content(objects: Objects) -> None:
    objects.replace(_OBJECT, b"one", None)
    data, version = objects.read(_OBJECT, 100)
    assert objects.read_if_changed(_OBJECT, version, 100) is None
    objects.replace(_OBJECT, data + b" two", version)
    objects.put(_OBJECT, b"one")  # an earlier content is another version all the same
    with pytest.raises(ObjectChanged):
        objects.replace(_OBJECT, b"lost", version)
    assert objects.read(_OBJECT, 100)[0] == b"one"
