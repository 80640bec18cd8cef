"""Snapshots in a folder: names, numbers, what killed builds and damaged disks leave. The rest: test_contract.py."""

import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pipeline.store import SnapshotStore, decisions, last_built
from router.contract import CURRENT, FORMAT_VERSION, MANIFEST, Manifest
from router.errors import SnapshotInvalid
from router.snapshot.store.state import StoreState
from tests.support.publishing import Publications, sign

A, B, C = "20260101T000000Z-aaaaaaaa", "20260102T000000Z-bbbbbbbb", "20260103T000000Z-cccccccc"


def stored(store: SnapshotStore, *names: str) -> None:
    """Store snapshots without a number, of which nothing can be opened."""
    for name in names:
        (store.folder / name).mkdir(parents=True)
        (store.folder / name / MANIFEST).write_text("{}", encoding="utf-8")


@pytest.fixture
def bare(tmp_path: Path) -> SnapshotStore:
    made = SnapshotStore(tmp_path, "office")
    stored(made, A, B, C)
    return made


@pytest.fixture
def built(tmp_path: Path, thinnest: Path) -> Publications:
    return Publications(tmp_path, thinnest)


@pytest.fixture
def store(built: Publications) -> SnapshotStore:
    """A store of three snapshots that open; the last is current."""
    for sequence, name in enumerate((A, B, C), 1):
        built.add(name, sequence=sequence, content_hash=name[-1] * 64, inputs_hash=name, held=[])
    built.publish(C)
    return SnapshotStore.at(built.folder)


def test_publishing_leaves_no_other_file_and_retention_goes_by_names_without_numbers(bare: SnapshotStore) -> None:
    bare.publish(A)
    assert [path.name for path in bare.folder.iterdir() if path.is_file()] == [CURRENT]
    assert all(stored.problem and stored.manifest is None for stored in bare.snapshots())
    assert bare.retain(1) == [B]
    assert sorted(path.name for path in bare.folder.iterdir() if path.is_dir()) == [A, C]


def test_snapshots_that_are_held_night_after_night_push_nothing_out(built: Publications) -> None:
    store = SnapshotStore.at(built.folder)
    names = [built.add(f"2026010{day}T000000Z-aaaaaaaa", held=["rejected"] * (day > 1)).name for day in (1, 2, 3, 4)]
    store.publish(names[0])
    assert store.retain(1) == names[1:3]
    assert [stored.held for stored in store.snapshots()] == [True, False]


def test_what_a_killed_build_left_goes_and_a_running_one_keeps_its_folder(bare: SnapshotStore) -> None:
    left = bare.folder / ".building-old"
    left.mkdir()
    assert bare.retain(9) == [] and not left.exists()
    left.mkdir()
    with bare.staging("d" * 64) as folder:
        assert list(bare.folder.glob(".building-*")) == [folder]
        other = "import sys, pathlib; from pipeline.store import SnapshotStore\n"
        other += "print(SnapshotStore.at(pathlib.Path(sys.argv[1])).retain(9))"
        assert subprocess.run([sys.executable, "-c", other, bare.folder], check=True, capture_output=True)
        assert folder.is_dir()
    assert not folder.exists()


def test_an_id_is_time_and_content_and_two_of_one_second_differ(bare: SnapshotStore) -> None:
    names = []
    for digit in "fee":
        with bare.staging(digit * 64) as folder:
            (folder / MANIFEST).write_text("{}", encoding="utf-8")
            names.append(bare.seal(folder).name)
    assert [name[-9:] for name in names] == ["-ffffffff", "-eeeeeeee", "-eeeeeeee"]
    assert len(set(names)) == 3


def test_numbers_rise_over_all_catalogs_of_a_workspace(built: Publications, tmp_path: Path) -> None:
    built.add(A, sequence=6)
    assert [SnapshotStore(tmp_path, "other").take_sequence() for _ in range(3)] == [7, 8, 9]


def test_the_catalog_built_last_is_found_by_number_whatever_the_clock_said(thinnest: Path, tmp_path: Path) -> None:
    for sequence, (catalog, name) in enumerate((("a", "20270101T000000Z-a"), ("b", "20260101T000000Z-b")), 1):
        folder = shutil.copytree(thinnest, tmp_path / "snapshots" / catalog / name)
        sign(folder, partial(dict.update, sequence=sequence))
        SnapshotStore(tmp_path, catalog).publish(name)
    assert last_built(tmp_path) == "b"


def test_the_newest_snapshot_of_another_format_is_still_the_newest(built: Publications) -> None:
    store = SnapshotStore.at(built.folder)
    older = built.add("20270101T000000Z-aaaaaaaa", sequence=1, content_hash="a" * 64).name
    newer = built.add("20260101T000000Z-bbbbbbbb", sequence=2, versions={"format": FORMAT_VERSION + 1}).name
    store.publish(newer)
    assert [stored.name for stored in store.snapshots()] == [newer, older]
    assert decisions.rollback(store) == older


@pytest.mark.parametrize("damage", ["manifest breaks off", "folder is gone"])
def test_what_is_damaged_can_be_rolled_back_from(store: SnapshotStore, damage: str) -> None:
    manifest = store.folder / C / MANIFEST
    text = manifest.read_text(encoding="utf-8")
    manifest.unlink()  # a link, whose other names keep their text
    manifest.write_text(text[:100], encoding="utf-8")
    if damage == "folder is gone":
        shutil.rmtree(store.folder / C)
    assert decisions.rollback(store) == B


@pytest.mark.parametrize("content", [b"", b"\0" * 20, b"\xff\xfe\x00\x81"])
def test_where_the_current_snapshot_cannot_be_told_another_can_be_named(store: SnapshotStore, content: bytes) -> None:
    (store.folder / CURRENT).write_bytes(content)
    assert not any(stored.current for stored in store.snapshots())
    if b"\xff" in content:
        with pytest.raises(SnapshotInvalid, match=r"CURRENT cannot be read: .*: quartermaster snapshots office --use"):
            store.current()
    decisions.use(store, B)
    assert store.current() == B


def test_snapshots_that_do_not_tell_their_inputs_are_not_taken_for_one_another(thinnest: Path) -> None:
    left = replace(Manifest.read(thinnest), content_hash="a" * 64, inputs_hash="")
    state = StoreState().leaving(left, "2026-01-04T00:00:00+00:00")
    assert state.rollback_of("a" * 64, "") and state.rollback_of("b" * 64, "") is None


def test_a_state_of_an_older_version_opens_and_a_damaged_one_is_refused(store: SnapshotStore) -> None:
    assert StoreState.from_json("{}", "here") == StoreState()
    assert StoreState.from_json('{"sequence": 3, "news": 1}', "here") == StoreState(3)
    for damaged in (
        b"",
        b"[]",
        b"\xff\xfe\0",
        b'{"pin": {"snapshot": "\xff"}}',
        b'{"sequence": 1e999}',
        b'{"pin": 3}',
        b'{"rolled_back": [{}]}',
    ):
        (store.folder / "state.json").write_bytes(damaged)
        with pytest.raises(SnapshotInvalid, match=r"state\.json is damaged: .* Restore it, or remove it"):
            store.state()
