"""Fixtures of several packages: snapshots that open within milliseconds, and a small default encoder."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import duckdb
import pytest

from pipeline.encoders.export import PACKAGED
from pipeline.ledger import LEDGER_FILE, Ledger, backups
from pipeline.ledger.database import connect
from router.contract import Signal
from tests.support.small_delta import save_small_delta
from tests.support.small_encoder import save
from tests.support.thin_snapshots import write_thin_snapshot


@pytest.fixture(scope="session", autouse=True)
def _ledgers_begin_as_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Begin each ledger as a copy of one that has its tables already: that takes half of the time."""
    empty = tmp_path_factory.mktemp("ledger") / LEDGER_FILE

    def copied(path: Path) -> duckdb.DuckDBPyConnection:
        if path != empty and not path.exists():
            if not empty.exists():
                Ledger.open(empty.parent).__exit__(None, None, None)
            with suppress(FileExistsError), NamedTemporaryFile(dir=path.parent) as whole:
                shutil.copyfile(empty, whole.name)
                os.link(whole.name, path)  # in one step, for who opens it at the same time
        return connect(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backups, "connect", copied)
        yield


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model in the place of the packaged one, a delta over it as the default, and a cache of the test's own."""
    folder = save(tmp_path / "model", pooling="mean")
    # Small enough to be exported as int8 by every processor: without VNNI, ONNX Runtime rounds worse.
    delta = save_small_delta(tmp_path / "delta", folder, name=PACKAGED, size=0.1)
    monkeypatch.setattr("pipeline.encoders.default_encoder.packaged_folder", lambda: folder)
    monkeypatch.setattr("pipeline.encoders.export.model.packaged_folder", lambda: folder)
    monkeypatch.setattr("pipeline.encoders.default_encoder.tools_folder", lambda: delta)
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture(scope="session")
def thin(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session's snapshot with the index of names alone: eight tools, twelve files. Tests that change it copy it."""
    return write_thin_snapshot(snapshot, tmp_path_factory.mktemp("thin") / "office" / snapshot.name, Signal.NAME)


@pytest.fixture(scope="session")
def thinnest(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session's snapshot without an index: four files, so that a bucket gets it in few requests."""
    return write_thin_snapshot(snapshot, tmp_path_factory.mktemp("thinnest") / "office" / snapshot.name)
