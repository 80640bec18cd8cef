"""Where credentials come from, that they go nowhere, and answers that break off."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import obstore
import pytest

from router.errors import SettingsInvalid
from router.snapshot.store.bucket import connecting
from router.snapshot.store.bucket.objects import ObjectChanged, Objects, ObjectUnavailable
from router.snapshot.store.bucket.url import checked_url
from tests.support.api_server import Received, Reply, api_server
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.object_storage import Bucket

_SECRET = "very-secret-word"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user without credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_CHECKSUM_ALGORITHM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def test_variables_come_before_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("boto3")
    (tmp_path / "credentials").write_text(
        f"[default]\naws_access_key_id = one\naws_secret_access_key = {_SECRET}\n[night]\naws_access_key_id = two\n"
        f"aws_secret_access_key = {_SECRET}\nregion = eu-north-1\n"
    )
    assert connecting._aws_options()["credential_provider"] is not None
    monkeypatch.setenv("AWS_PROFILE", "night")
    assert connecting._aws_options()["region"] == "eu-north-1"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "three")
    assert connecting._aws_options() == {"checksum_algorithm": "SHA256"}
    monkeypatch.setenv("AWS_CHECKSUM_ALGORITHM", "CRC64NVME")
    assert connecting._aws_options() == {}


def test_a_profile_without_boto3_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert "credential_provider" not in connecting._aws_options()
    monkeypatch.setenv("AWS_PROFILE", "night")
    with pytest.raises(SettingsInvalid, match="AWS_PROFILE needs boto3"):
        Objects("s3://bucket/catalogs/office")


def test_no_error_repeats_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", _SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(ObjectUnavailable) as failure:
        Objects("s3://bucket/catalogs/office", patience_s=0.1).read("CURRENT", 10)
    cause: BaseException | None = failure.value
    while cause is not None:
        assert _SECRET not in str(cause)
        cause = cause.__cause__


def test_an_address_with_a_secret_or_without_a_catalog_is_refused_and_no_secret_repeated() -> None:
    for place in (f"someone:{_SECRET}@bucket/office", f"bucket/office?key={_SECRET}", f"bucket/office#{_SECRET}"):
        with pytest.raises(SettingsInvalid, match="must hold no credentials") as failure:
            checked_url(f"s3://{place}")
        assert _SECRET not in str(failure.value)
    for url in ("s3://bucket", "s3:///office", "s3://bucket//office", "s3://bucket/../office", "file://"):
        with pytest.raises(SettingsInvalid, match="names no catalog"):
            checked_url(url)


def test_a_missing_bucket_is_told_from_an_empty_one(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(FileNotFoundError, match="CURRENT does not exist"):
        Objects(f"{bucket.url}/catalogs/none").read("CURRENT", 10)
    asks: list[Callable[[Objects], object]] = [lambda there: there.read("CURRENT", 10), lambda there: [*there.list("")]]
    for ask in asks:
        with pytest.raises(ObjectUnavailable, match=r"no-such-bucket/demo/.*: the bucket does not exist"):
            ask(Objects("s3://no-such-bucket/demo"))


@pytest.mark.parametrize(("scheme", "variable"), [("gs", "GOOGLE_BASE_URL"), ("az", "AZURE_ENDPOINT")])
def test_an_emulator_without_tls_is_asked(scheme: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "someone")
    for name in ("GOOGLE_SKIP_SIGNATURE", "AZURE_SKIP_SIGNATURE"):
        monkeypatch.setenv(name, "true")
    with api_server(lambda _: Reply(b"", 404)) as server:
        monkeypatch.setenv(variable, server.url)
        with pytest.raises(FileNotFoundError):
            Objects(f"{scheme}://bucket/office", patience_s=0.1).read("CURRENT", 10)
    assert server.received


def test_an_object_that_changes_while_it_is_read_is_read_anew(bucket: Bucket, proxy: FaultyProxy) -> None:
    store = bucket.store("catalogs/demo")
    obstore.put(store, "CURRENT", b"before" * 10)
    overwrite = Fault("cut answer", "GET", times=1, act=lambda: obstore.put(store, "CURRENT", b"after" * 10))
    proxy.plan.set(overwrite)
    assert Objects(f"{bucket.url}/catalogs/demo").read("CURRENT", 100)[0] == b"after" * 10
    assert proxy.plan.counts == {"cut answer": 1}


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
