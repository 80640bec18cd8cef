"""The oracle's view of the bucket: it sees what is missing, damaged or left over."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from tests.cluster_month.bucket import BucketReader
from tests.support.object_storage import Bucket

_CONTENT = b"content"
_FILE = f"files/{hashlib.sha256(_CONTENT).hexdigest()}"


@pytest.fixture
def store(bucket: Bucket) -> S3Store:
    """A bucket with one snapshot of one file."""
    store = bucket.store()
    manifest = {"snapshot": "one", "files": {"a.bin": _FILE.removeprefix("files/")}}
    obstore.put(store, _FILE, _CONTENT)
    obstore.put(store, "snapshots/one/manifest.json", json.dumps(manifest).encode())
    obstore.put(store, "CURRENT", json.dumps({"snapshot": "one", "revision": 1}).encode())
    return store


def _violations(store: S3Store, folder: Path) -> list[str]:
    reader = BucketReader(store, folder)
    return list(reader.violations(reader.read()))


def test_a_whole_bucket_breaks_nothing(store: S3Store, tmp_path: Path) -> None:
    assert _violations(store, tmp_path) == []


def test_a_missing_object_is_seen(store: S3Store, tmp_path: Path) -> None:
    obstore.delete(store, _FILE)
    assert _violations(store, tmp_path) == ["one refers to objects that are missing: a.bin"]


def test_a_damaged_object_is_seen(store: S3Store, tmp_path: Path) -> None:
    obstore.put(store, _FILE, b"other")
    assert _violations(store, tmp_path) == [f"{_FILE} is not what its name says"]


def test_a_missing_snapshot_is_seen(store: S3Store, tmp_path: Path) -> None:
    obstore.delete(store, "snapshots/one/manifest.json")
    assert _violations(store, tmp_path) == ["CURRENT names one, which is not in the bucket"]


def test_a_foreign_object_is_seen(store: S3Store, tmp_path: Path) -> None:
    obstore.put(store, "upload.tmp", b"1")
    assert _violations(store, tmp_path) == ["nobody knows what upload.tmp is"]


def test_an_orphan_is_seen_once_its_grace_period_is_over(store: S3Store, tmp_path: Path) -> None:
    obstore.put(store, "files/orphan", b"1")
    reader, now = BucketReader(store, tmp_path), datetime.now(UTC)
    contents = reader.read()
    assert reader.orphans(contents, now, timedelta(hours=1)) == []
    assert reader.orphans(contents, now + timedelta(hours=2), timedelta(hours=1)) == ["files/orphan"]
