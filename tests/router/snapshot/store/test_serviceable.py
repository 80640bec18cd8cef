"""What is damaged can be rolled back from, and what an operator names serves in its place."""

import shutil
from pathlib import Path

import pytest

from router.contract import CURRENT, MANIFEST
from router.errors import SettingsInvalid, SnapshotInvalid
from router.store import SnapshotStore, decisions
from tests.support.publishing import Publications

NEWEST = "20260103T000000Z-c"


@pytest.fixture
def store(tmp_path: Path, snapshot: Path) -> SnapshotStore:
    """A store of three snapshots; the last is current."""
    built = Publications(tmp_path, snapshot)
    for sequence, content in enumerate("abc", 1):
        name = f"2026010{sequence}T000000Z-{content}"
        built.add(name, sequence=sequence, content_hash=content * 64, inputs_hash=f"inputs of {content}", held=[])
    built.publish(NEWEST)
    return SnapshotStore.at(built.folder)


def test_a_snapshot_whose_manifest_breaks_off_is_rolled_back_from(store: SnapshotStore) -> None:
    manifest = store.folder / NEWEST / MANIFEST
    text = manifest.read_text(encoding="utf-8")
    manifest.unlink()  # a link, whose other names keep their text
    manifest.write_text(text[:100], encoding="utf-8")
    assert decisions.rollback(store) == "20260102T000000Z-b"


def test_a_snapshot_whose_folder_is_gone_is_rolled_back_from(store: SnapshotStore) -> None:
    shutil.rmtree(store.folder / NEWEST)
    assert decisions.rollback(store) == "20260102T000000Z-b"


def test_where_nothing_was_published_there_is_nothing_to_roll_back(store: SnapshotStore) -> None:
    (store.folder / CURRENT).unlink()
    with pytest.raises(SettingsInvalid, match="serves no snapshot: there is nothing to roll back from"):
        decisions.rollback(store)


@pytest.mark.parametrize("content", [b"", b"\0" * 20, b"\xff\xfe\x00\x81"])
def test_where_the_current_snapshot_cannot_be_told_another_can_be_named(store: SnapshotStore, content: bytes) -> None:
    (store.folder / CURRENT).write_bytes(content)
    assert not any(stored.current for stored in store.snapshots())
    decisions.use(store, "20260102T000000Z-b")
    assert store.current() == "20260102T000000Z-b"


def test_a_pointer_that_is_no_text_is_told_with_the_way_out(store: SnapshotStore) -> None:
    (store.folder / CURRENT).write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(SnapshotInvalid, match=r"CURRENT cannot be read: .*: quartermaster snapshots office --use"):
        store.current()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x81", b"[]", b'{"sequence": 1e999}'])
def test_a_damaged_state_is_refused_in_a_sentence(store: SnapshotStore, content: bytes) -> None:
    (store.folder / "state.json").write_bytes(content)
    with pytest.raises(SnapshotInvalid, match=r"state\.json is damaged: .* Restore it, or remove it"):
        store.state()


def test_a_rollback_that_did_not_take_effect_holds_nothing_back(store: SnapshotStore) -> None:
    current = store.snapshots()[0].manifest
    assert current is not None
    store.write_state(store.state().leaving(current, "2026-01-04T00:00:00+00:00"))  # killed before CURRENT moved
    assert decisions.reasons_against(store, "office", "x" * 64, current.inputs_hash) == ()
