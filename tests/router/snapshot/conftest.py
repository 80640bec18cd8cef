"""A snapshot that opens within milliseconds."""

from pathlib import Path

import pytest

from router.contract import Signal
from tests.support.thin_snapshots import write_thin_snapshot


@pytest.fixture(scope="session")
def thin(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session's snapshot with the index of names alone: eight tools, twelve files. Tests that change it copy it."""
    return write_thin_snapshot(snapshot, tmp_path_factory.mktemp("thin") / "office" / snapshot.name, Signal.NAME)
