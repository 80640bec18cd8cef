"""A catalog in a bucket of an S3 server on loopback, behind a proxy that injects faults."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.store.bucket.store import GRACE, BucketStore
from router import Router
from router.snapshot.store.bucket import reader
from router.snapshot.store.bucket.url import cache_place
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket
from tests.support.publishing import Publications
from tests.support.uploading import BucketCatalog

Stores = Callable[..., BucketStore]


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes the power away here: a third of the time would be spent on syncing."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy before the bucket, which the environment names. Readers wait for it for fractions of a second."""
    for name, seconds in {"_LOOK_PATIENCE_S": 0.1, "_FILE_PATIENCE_S": 0.2}.items():
        monkeypatch.setattr(reader, name, seconds)
    with faulty_proxy(bucket.port) as made:
        for variable, value in bucket.through(made.port).environment.items():
            monkeypatch.setenv(variable, value)
        yield made


@pytest.fixture
def stores(bucket: Bucket, proxy: FaultyProxy, tmp_path: Path) -> Stores:
    """Make the store of the catalog "office" as a machine of some name has it."""

    def make(machine: str = "one", grace: timedelta = GRACE, patience_s: float = 20.0) -> BucketStore:
        cache = tmp_path / machine / "snapshots/office"
        return BucketStore(f"{bucket.url}/catalogs/office", cache, grace=grace, patience_s=patience_s)

    return make


@pytest.fixture
def office(tmp_path: Path, thin: Path) -> Publications:
    """Three snapshots, `a`, `b` and `c`, which differ in their recipe alone."""
    made = Publications(tmp_path / "built", thin)
    for name in "abc":
        made.add(name)
    return made


@pytest.fixture
def catalog(bucket: Bucket, office: Publications) -> BucketCatalog:
    """The catalog in the bucket with `a` and `b`; `a` is current."""
    made = BucketCatalog(bucket)
    for name in "ab":
        made.upload(office.folder / name)
    made.publish("a")
    return made


@pytest.fixture
def opened(catalog: BucketCatalog, proxy: FaultyProxy, tmp_path: Path) -> Callable[[], Router]:
    """Opens a router over the catalog with one and the same cache."""
    return lambda: Router.open(catalog.url, cache_dir=tmp_path / "cache")


@pytest.fixture
def cache(catalog: BucketCatalog, tmp_path: Path) -> Path:
    """The folder of that cache."""
    return cache_place(catalog.url, tmp_path / "cache")
