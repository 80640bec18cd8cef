"""A catalog in a bucket of an S3 server on loopback, behind a proxy that injects faults."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from router.snapshot.store.bucket.store import GRACE, BucketStore
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket

Stores = Callable[..., BucketStore]


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy before the bucket, which the environment names."""
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
