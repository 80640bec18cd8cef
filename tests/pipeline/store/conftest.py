"""A store of every kind, for what holds of them all."""

from pathlib import Path

import pytest

from pipeline.store import WritableStore
from tests.support.object_storage import Bucket
from tests.support.stores import KINDS, empty_store


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of a store."""
    return str(request.param)


@pytest.fixture
def empty(kind: str, tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> WritableStore:
    """An empty store of that kind. A bucket is one of an S3 server."""
    for variable, value in bucket.environment.items():
        monkeypatch.setenv(variable, value)
    return empty_store(kind, tmp_path, bucket)
