"""Databases of snapshots that do not serve are deltas; whole again where somebody asks for them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.store import SnapshotStore
from pipeline.store.deltas import databases
from pipeline.store.deltas.databases import database_file, restore_dependents, store_as_deltas, verify_database
from pipeline.store.deltas.reading import DELTA, base_of
from router.contract import CATALOG_DB, MANIFEST, Manifest
from router.errors import SnapshotInvalid
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.places import ROOT

_ROWS = 1_000


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


@pytest.fixture
def nights(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The databases of five nights."""
    monkeypatch.setattr(databases, "LEAST_SIZE", 0)
    return _nights(5)


@pytest.fixture
def catalog(tmp_path: Path, nights: list[bytes]) -> Path:
    """The first four nights, each stored as a build does it: a chain of three deltas."""
    for number, content in enumerate(nights[:4]):
        folder = write_bare_snapshot(tmp_path / "shop" / f"night{number}", {CATALOG_DB: content})
        assert store_as_deltas(folder.parent, folder.name) == []
    return tmp_path / "shop"


def whole(catalog: Path) -> list[str]:
    """The snapshots whose database is no delta."""
    return [path.parent.name for path in sorted(catalog.glob(f"*/{CATALOG_DB}"))]


def test_old_databases_are_deltas_restored_through_the_chain(catalog: Path, nights: list[bytes]) -> None:
    folder = catalog / "night0"
    assert max((catalog / f"night{n}" / DELTA).stat().st_size for n in range(3)) < 0.2 * len(nights[0])
    assert whole(catalog) == ["night3"] and not list(catalog.glob("*/.*"))
    verify_database(folder, Manifest.read(folder))
    assert not (folder / CATALOG_DB).exists()
    assert database_file(folder).read_bytes() == nights[0]
    assert store_as_deltas(catalog, "night3") == []  # and stored as a delta again
    assert whole(catalog) == ["night3"] and base_of(folder) == "night3"
    assert database_file(folder).read_bytes() == nights[0]


def test_no_two_snapshots_become_deltas_of_each_other_after_a_rollback(catalog: Path, nights: list[bytes]) -> None:
    database_file(catalog / "night2")  # its delta is against night3; now it serves, and night3 is the old one
    assert store_as_deltas(catalog, "night2") == []
    assert base_of(catalog / "night3") == "night2"
    for number, content in enumerate(nights[:4]):
        assert database_file(catalog / f"night{number}").read_bytes() == content


def test_a_snapshot_that_serves_again_has_its_database_whole_unless_that_is_lost(
    catalog: Path, nights: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    store = SnapshotStore.at(catalog)
    store.publish("night1")
    assert (catalog / "night1" / CATALOG_DB).read_bytes() == nights[1]
    (catalog / "night2" / DELTA).write_bytes(b"no delta")
    store.publish("night2")
    assert store.current() == "night2" and "is corrupt" in caplog.text


def test_a_base_is_removed_only_after_what_depends_on_it_is_whole(catalog: Path, nights: list[bytes]) -> None:
    restore_dependents(catalog, ["night2"])
    assert whole(catalog) == ["night1", "night3"]
    assert (catalog / "night1" / CATALOG_DB).read_bytes() == nights[1]


def _damage_base(catalog: Path) -> None:
    with (catalog / "night3" / CATALOG_DB).open("r+b") as stream:
        stream.seek(100_000)
        stream.write(bytes(100_000))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_damage_base, r"catalog.duckdb of .*night0 is corrupt"),
        (lambda catalog: (catalog / "night1" / DELTA).write_bytes(b"no database" * 100), r"night1/.*delta is corrupt"),
        (
            lambda catalog: (catalog / "night1" / MANIFEST).unlink(),
            r"a delta against the snapshot 'night1', which .* does not have",
        ),
    ],
    ids=["base", "delta", "base is gone"],
)
def test_damage_is_told_and_nothing_is_restored(catalog: Path, damage: Callable[[Path], object], told: str) -> None:
    damage(catalog)
    folder = catalog / "night0"
    with pytest.raises(SnapshotInvalid, match=told):
        database_file(folder)
    assert whole(catalog) == ["night3"]
    with pytest.raises(SnapshotInvalid, match=r"checksum is not the one in the manifest|is corrupt|does not have"):
        verify_database(folder, Manifest.read(folder))


def test_a_database_that_differs_from_its_checksum_stays_whole(catalog: Path) -> None:
    changed = database_file(catalog / "night1")
    changed.write_bytes(b"changed by hand" * 100)
    (problem,) = store_as_deltas(catalog, "night3")
    assert "night1/catalog.duckdb stays whole" in problem
    assert changed.read_bytes() == b"changed by hand" * 100


# One process that forks for each step: it imports the router once.
_KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.store.deltas import databases

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


def test_a_kill_at_any_step_leaves_the_database_and_a_way_on(tmp_path: Path, nights: list[bytes]) -> None:
    catalogs = [tmp_path / str(step) for step in range(10)]
    for catalog in catalogs:
        for number, content in enumerate(nights[:2]):
            write_bare_snapshot(catalog / f"night{number}", {CATALOG_DB: content})
    command = [sys.executable, "-c", _KILLED, *map(str, catalogs)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    codes = [int(line) for line in ended.stdout.splitlines()]
    killed = codes.count(-signal.SIGKILL)
    assert killed >= 6
    assert codes == [-signal.SIGKILL] * killed + [0] * (10 - killed)
    for catalog in catalogs:
        verify_database(catalog / "night0", Manifest.read(catalog / "night0"))
        assert store_as_deltas(catalog, "night1") == []
        assert database_file(catalog / "night0").read_bytes() == nights[0]
