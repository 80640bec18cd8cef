"""Snapshots on disk: atomic, retained, rolled back."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from router.contract import MANIFEST, Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.store import SnapshotStore, catalogs, last_built


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


def test_rollback_passes_over_what_was_held_or_does_not_open(snapshot: Path, tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, "office")
    names = [f"2026010{day}T000000Z-aaaaaaaa" for day in (1, 2, 3, 4)]
    for name in names:
        shutil.copytree(snapshot, store.folder / name)
    _hold(store.folder / names[2])
    (store.folder / names[1] / "records.jsonl").write_text("damaged", encoding="utf-8")
    store.publish(names[3])
    assert store.rollback() == store.current() == names[0]
    with pytest.raises(SettingsInvalid, match="nothing to roll back"):
        store.rollback()
    assert store.current() == names[0]


def test_snapshots_that_are_held_night_after_night_push_nothing_out(snapshot: Path, tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, "office")
    names = [f"2026010{day}T000000Z-aaaaaaaa" for day in (1, 2, 3, 4)]
    for name in names:
        shutil.copytree(snapshot, store.folder / name)
    for name in names[1:]:
        _hold(store.folder / name)
    store.publish(names[0])
    assert store.retain(1) == names[1:3]
    assert [stored.held for stored in store.snapshots()] == [True, False]


def _hold(folder: Path) -> None:
    replace(Manifest.read(folder), held=("too many rejected",)).write(folder)


def test_retention_keeps_the_newest_and_the_current_one(store: SnapshotStore) -> None:
    store.publish("20260101T000000Z-aaaaaaaa")
    assert store.retain(1) == ["20260102T000000Z-bbbbbbbb"]
    left = sorted(f.name for f in store.folder.iterdir() if f.is_dir())
    assert left == ["20260101T000000Z-aaaaaaaa", "20260103T000000Z-cccccccc"]


def test_a_failed_build_leaves_nothing(store: SnapshotStore) -> None:
    with pytest.raises(RuntimeError), store.staging("d" * 64) as folder:
        (folder / "half").write_text("written", encoding="utf-8")
        raise RuntimeError
    assert len(list(store.folder.iterdir())) == 3


def test_what_a_killed_build_left_is_removed_by_the_next(store: SnapshotStore) -> None:
    (store.folder / ".building-old").mkdir()
    with store.staging("d" * 64) as folder:
        names = {f.name for f in store.folder.iterdir() if f.name.startswith(".")}
    assert names == {folder.name}


def test_an_id_is_time_and_content_and_sorts_by_age(store: SnapshotStore) -> None:
    names = []
    for digit in "fe":
        with store.staging(digit * 64) as folder:
            (folder / MANIFEST).write_text("{}", encoding="utf-8")
            names.append(store.seal(folder).name)
    assert names == sorted(names)
    assert [name[-9:] for name in names] == ["-ffffffff", "-eeeeeeee"]


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
