"""Snapshots on disk: atomic, retained, rolled back."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from router.contract import MANIFEST
from router.errors import SnapshotInvalid
from router.store import SnapshotStore, catalogs, last_built
from tests.support.publishing import Publications, sign


def stored(store: SnapshotStore, *names: str) -> None:
    for name in names:
        (store.folder / name).mkdir(parents=True)
        (store.folder / name / MANIFEST).write_text("{}", encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    made = SnapshotStore(tmp_path, "office")
    stored(made, "20260101T000000Z-aaaaaaaa", "20260102T000000Z-bbbbbbbb", "20260103T000000Z-cccccccc")
    return made


def test_nothing_is_current_before_something_is_published(store: SnapshotStore) -> None:
    assert store.current() is None


def test_publishing_moves_current_and_leaves_no_other_file(store: SnapshotStore) -> None:
    store.publish("20260102T000000Z-bbbbbbbb")
    assert store.current() == "20260102T000000Z-bbbbbbbb"
    assert [f.name for f in store.folder.iterdir() if f.is_file()] == ["CURRENT"]


@pytest.mark.parametrize("name", ["nothing", "../office/20260101T000000Z-aaaaaaaa", ""])
def test_only_a_snapshot_of_the_catalog_can_be_published(store: SnapshotStore, name: str) -> None:
    with pytest.raises(SnapshotInvalid):
        store.publish(name)
    assert store.current() is None


def test_snapshots_that_are_held_night_after_night_push_nothing_out(snapshot: Path, tmp_path: Path) -> None:
    built = Publications(tmp_path, snapshot)
    store = SnapshotStore.at(built.folder)
    names = [built.add(f"2026010{day}T000000Z-aaaaaaaa", held=["rejected"] * (day > 1)).name for day in (1, 2, 3, 4)]
    store.publish(names[0])
    assert store.retain(1) == names[1:3]
    assert [stored.held for stored in store.snapshots()] == [True, False]


def test_retention_keeps_the_newest_and_the_current_one(store: SnapshotStore) -> None:
    store.publish("20260101T000000Z-aaaaaaaa")
    assert store.retain(1) == ["20260102T000000Z-bbbbbbbb"]
    left = sorted(f.name for f in store.folder.iterdir() if f.is_dir())
    assert left == ["20260101T000000Z-aaaaaaaa", "20260103T000000Z-cccccccc"]


def test_a_failed_build_leaves_nothing(store: SnapshotStore) -> None:
    with pytest.raises(RuntimeError), store.staging("d" * 64) as folder:
        (folder / "half").write_text("written", encoding="utf-8")
        raise RuntimeError
    assert len([path for path in store.folder.iterdir() if path.is_dir()]) == 3


def test_what_a_killed_build_left_is_removed_by_the_next(store: SnapshotStore) -> None:
    (store.folder / ".building-old").mkdir()
    with store.staging("d" * 64) as folder:
        assert list(store.folder.glob(".building-*")) == [folder]


def test_what_a_killed_build_left_is_removed_by_a_build_that_writes_nothing(store: SnapshotStore) -> None:
    (store.folder / ".building-old").mkdir()
    assert store.retain(9) == []
    assert not list(store.folder.glob(".building-*"))


def test_the_folder_of_a_build_that_is_running_is_no_leftover(store: SnapshotStore) -> None:
    with store.staging("d" * 64) as folder:
        other = "from router.store import SnapshotStore; import sys, pathlib; print(SnapshotStore.at(pathlib.Path("
        other += "sys.argv[1])).retain(9))"
        assert subprocess.run([sys.executable, "-c", other, store.folder], check=True, capture_output=True)
        assert folder.is_dir()
    assert not folder.exists()


def test_an_id_is_time_and_content_and_two_of_one_second_differ(store: SnapshotStore) -> None:
    names = []
    for digit in "fee":
        with store.staging(digit * 64) as folder:
            (folder / MANIFEST).write_text("{}", encoding="utf-8")
            names.append(store.seal(folder).name)
    assert [name[-9:] for name in names] == ["-ffffffff", "-eeeeeeee", "-eeeeeeee"]
    assert len(set(names)) == 3


def test_numbers_rise_over_all_catalogs_of_a_workspace(snapshot: Path, tmp_path: Path) -> None:
    built = Publications(tmp_path, snapshot)
    built.add("20260101T000000Z-aaaaaaaa", sequence=6)
    assert SnapshotStore(tmp_path, "other").take_sequence() == 7
    assert [SnapshotStore(tmp_path, "other").take_sequence() for _ in range(2)] == [8, 9]


def test_the_catalog_built_last_is_found_by_number_whatever_the_clock_said(snapshot: Path, tmp_path: Path) -> None:
    for sequence, (catalog, name) in enumerate(
        (("a", "20270101T000000Z-aaaaaaaa"), ("b", "20260101T000000Z-bbbbbbbb"))
    ):
        shutil.copytree(snapshot, tmp_path / "snapshots" / catalog / name)
        sign(tmp_path / "snapshots" / catalog / name, partial(dict.update, sequence=sequence + 1))
        SnapshotStore(tmp_path, catalog).publish(name)
    assert last_built(tmp_path) == "b"


def test_the_newest_snapshot_of_another_format_is_still_the_newest(snapshot: Path, tmp_path: Path) -> None:
    built = Publications(tmp_path, snapshot)
    store = SnapshotStore.at(built.folder)
    older = built.add("20270101T000000Z-aaaaaaaa", sequence=1, content_hash="a" * 64).name
    newer = built.add("20260101T000000Z-bbbbbbbb", sequence=2, versions={"format": 6}).name
    store.publish(newer)
    assert [stored.name for stored in store.snapshots()] == [newer, older]
    assert store.rollback() == older


def test_a_snapshot_with_a_broken_manifest_is_listed_with_its_problem(store: SnapshotStore) -> None:
    assert all(stored.problem and stored.manifest is None for stored in store.snapshots())


def test_the_catalog_built_last_has_the_newest_snapshot_and_serves(tmp_path: Path) -> None:
    assert last_built(tmp_path) is None
    for catalog, names in {
        "a": ["20260101T000000Z-ffffffff", "20260105T000000Z-aaaaaaaa"],  # serves the older: it was rolled back
        "b": ["20260104T000000Z-bbbbbbbb"],
        "held": ["20260109T000000Z-cccccccc"],  # serves nothing
    }.items():
        stored(SnapshotStore(tmp_path, catalog), *names)
    (tmp_path / "snapshots/failed").mkdir()  # of a first build that failed
    assert last_built(tmp_path) == "held"  # nothing serves anywhere: its error says what to do
    SnapshotStore(tmp_path, "b").publish("20260104T000000Z-bbbbbbbb")
    assert last_built(tmp_path) == "b"
    SnapshotStore(tmp_path, "a").publish("20260101T000000Z-ffffffff")
    assert last_built(tmp_path) == "a"
    assert catalogs(tmp_path) == ["a", "b", "failed", "held"]


def test_of_catalogs_built_in_the_same_second_the_first_by_name_is_the_last_built(tmp_path: Path) -> None:
    for catalog, snapshot in (("c", "20260101T000000Z-ffffffff"), ("b", "20260101T000000Z-00000000")):
        made = SnapshotStore(tmp_path, catalog)
        stored(made, snapshot)
        made.publish(snapshot)
    assert last_built(tmp_path) == "b"
