"""Databases of snapshots that do not serve are deltas; whole again where somebody asks for them."""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from router.contract import CATALOG_DB, FORMAT_VERSION, MANIFEST, Manifest
from router.errors import SnapshotInvalid
from router.snapshot.snapshot import verify_checksums
from router.snapshot.store.deltas import databases
from router.snapshot.store.deltas.databases import database_file, restore_dependents, store_as_deltas
from router.snapshot.store.deltas.reading import DELTA, base_of
from router.store import SnapshotStore
from tests.support.places import ROOT

_ROWS = 2_000


def _nights(count: int) -> list[bytes]:
    """A file of rows of 384 bytes; each night a few are changed, removed and added, so that all behind them move."""
    draw = np.random.default_rng(7)
    rows = [draw.bytes(384) for _ in range(_ROWS)]
    nights = []
    for _ in range(count):
        nights.append(b"".join(rows))
        for place in draw.integers(0, len(rows), 5):
            rows[place] = draw.bytes(384)
        del rows[int(draw.integers(0, len(rows)))]
        rows.insert(int(draw.integers(0, len(rows))), draw.bytes(384))
    return nights


def _store(catalog: Path, name: str, content: bytes) -> Path:
    folder = catalog / name
    folder.mkdir(parents=True)
    (folder / CATALOG_DB).write_bytes(content)
    manifest = Manifest(
        snapshot=name,
        catalog="shop",
        created_at="2026-11-22T02:00:00+00:00",
        content_hash=name,
        versions={"format": FORMAT_VERSION},
        signals=(),
        encoder=None,
        generators={},
        recipe={},
        counts={},
        token_counter="estimate",
        files={CATALOG_DB: hashlib.sha256(content).hexdigest()},
    )
    manifest.write(folder)
    return folder


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four nights, each stored as a build does it: a chain of three deltas."""
    monkeypatch.setattr(databases, "LEAST_SIZE", 0)
    catalog = tmp_path / "shop"
    for night, content in enumerate(_nights(4)):
        folder = _store(catalog, f"night{night}", content)
        assert store_as_deltas(catalog, folder.name) == []
    return catalog


def test_old_databases_are_small_deltas_and_the_serving_one_is_whole(catalog: Path) -> None:
    sizes = [(catalog / f"night{n}" / DELTA).stat().st_size for n in range(3)]
    assert max(sizes) < 0.2 * len(_nights(1)[0])
    assert [path.parent.name for path in sorted(catalog.glob(f"*/{CATALOG_DB}"))] == ["night3"]
    assert not list(catalog.glob("*/.*"))


def test_a_database_is_restored_through_the_whole_chain(catalog: Path) -> None:
    assert database_file(catalog / "night0").read_bytes() == _nights(1)[0]


def test_a_delta_is_verified_without_being_restored(catalog: Path) -> None:
    folder = catalog / "night0"
    verify_checksums(folder, Manifest.read(folder).files)
    assert not (folder / CATALOG_DB).exists()


def test_a_restored_database_is_stored_as_a_delta_again(catalog: Path) -> None:
    database_file(catalog / "night0")
    assert store_as_deltas(catalog, "night3") == []
    assert not (catalog / "night0" / CATALOG_DB).exists()
    assert base_of(catalog / "night0") == "night3"
    assert database_file(catalog / "night0").read_bytes() == _nights(1)[0]


def test_no_two_snapshots_become_deltas_of_each_other_after_a_rollback(catalog: Path) -> None:
    database_file(catalog / "night2")  # its delta is against night3; now it serves, and night3 is the old one
    assert store_as_deltas(catalog, "night2") == []
    assert base_of(catalog / "night3") == "night2"
    for night, content in enumerate(_nights(4)):
        assert database_file(catalog / f"night{night}").read_bytes() == content


def test_the_database_of_a_snapshot_that_serves_again_is_whole(catalog: Path) -> None:
    SnapshotStore.at(catalog).publish("night1")
    assert (catalog / "night1" / CATALOG_DB).read_bytes() == _nights(2)[1]


def test_a_snapshot_serves_again_though_its_database_cannot_be_restored(
    catalog: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (catalog / "night2" / DELTA).write_bytes(b"no delta")
    SnapshotStore.at(catalog).publish("night2")
    assert SnapshotStore.at(catalog).current() == "night2"
    assert "is corrupt" in caplog.text


def test_a_base_is_removed_only_after_what_depends_on_it_is_whole(catalog: Path) -> None:
    restore_dependents(catalog, ["night2"])
    assert [path.parent.name for path in sorted(catalog.glob(f"*/{CATALOG_DB}"))] == ["night1", "night3"]
    assert (catalog / "night1" / CATALOG_DB).read_bytes() == _nights(2)[1]


def test_a_damaged_base_is_told_and_nothing_is_restored(catalog: Path) -> None:
    with (catalog / "night3" / CATALOG_DB).open("r+b") as stream:
        stream.seek(100_000)
        stream.write(bytes(200_000))
    with pytest.raises(SnapshotInvalid, match=r"catalog.duckdb of .*night0 is corrupt"):
        database_file(catalog / "night0")
    assert not (catalog / "night0" / CATALOG_DB).exists()
    with pytest.raises(SnapshotInvalid, match="its checksum is not the one in the manifest"):
        verify_checksums(catalog / "night0", Manifest.read(catalog / "night0").files)


def test_a_damaged_delta_is_told(catalog: Path) -> None:
    (catalog / "night1" / DELTA).write_bytes(b"no database" * 100)
    with pytest.raises(SnapshotInvalid, match=r"night1/catalog.duckdb.delta is corrupt"):
        database_file(catalog / "night0")


def test_a_delta_without_its_base_names_it(catalog: Path) -> None:
    (catalog / "night1" / MANIFEST).unlink()
    with pytest.raises(SnapshotInvalid, match=r"a delta against the snapshot 'night1', which .* does not have"):
        database_file(catalog / "night0")


def test_a_database_that_differs_from_its_checksum_stays_whole(catalog: Path) -> None:
    database_file(catalog / "night1")
    (catalog / "night1" / CATALOG_DB).write_bytes(b"changed by hand" * 100)
    (problem,) = store_as_deltas(catalog, "night3")
    assert "night1/catalog.duckdb stays whole" in problem
    assert (catalog / "night1" / CATALOG_DB).read_bytes() == b"changed by hand" * 100


def test_where_nothing_can_be_written_the_command_is_named(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")  # root may write into any folder

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(
        SnapshotInvalid, match=r"Read-only file system. Run `quartermaster inspect --snapshot .*night0`"
    ):
        database_file(catalog / "night0")


def test_a_small_database_stays_whole(tmp_path: Path) -> None:
    for night, content in enumerate(_nights(2)):
        _store(tmp_path / "shop", f"night{night}", content)
    assert store_as_deltas(tmp_path / "shop", "night1") == []
    assert len(list(tmp_path.glob(f"shop/*/{CATALOG_DB}"))) == 2


def test_a_reader_that_has_the_database_open_keeps_it(catalog: Path) -> None:
    content = _nights(5)[4]
    with (catalog / "night3" / CATALOG_DB).open("rb") as stream:
        _store(catalog, "night4", content)
        store_as_deltas(catalog, "night4")
        assert not (catalog / "night3" / CATALOG_DB).exists()
        assert stream.read() == _nights(4)[3]


# One process that forks for each step: it imports the router once.
_KILLED = """
import os, signal, sys
from pathlib import Path
from router.snapshot.store.deltas import databases

databases.LEAST_SIZE = 0

def killed_at(catalog, step):
    steps = iter(range(100))
    def counted(function):
        def call(*arguments, **options):
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)
        return call
    databases.write_delta, databases.sync = counted(databases.write_delta), counted(databases.sync)
    Path.replace, Path.unlink = counted(Path.replace), counted(Path.unlink)
    databases.store_as_deltas(catalog, "night1")

for step, catalog in enumerate(sys.argv[1:]):
    if not (child := os.fork()):
        killed_at(Path(catalog), step)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_after_a_kill_at_any_step_the_database_is_there_and_the_next_build_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "LEAST_SIZE", 0)
    catalogs = [tmp_path / str(step) for step in range(10)]
    for catalog in catalogs:
        for night, content in enumerate(_nights(2)):
            _store(catalog, f"night{night}", content)
    command = [sys.executable, "-c", _KILLED, *map(str, catalogs)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    codes = [int(line) for line in ended.stdout.splitlines()]
    killed = codes.count(-signal.SIGKILL)
    assert killed >= 6
    assert codes == [-signal.SIGKILL] * killed + [0] * (10 - killed)
    for catalog in catalogs:
        verify_checksums(catalog / "night0", Manifest.read(catalog / "night0").files)
        assert store_as_deltas(catalog, "night1") == []
        assert database_file(catalog / "night0").read_bytes() == _nights(1)[0]
