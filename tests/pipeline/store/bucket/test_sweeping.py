"""Retention in a bucket: what goes, when, and what never does."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pipeline.store.bucket.store import BucketStore
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.head import manifest_object, reservation_object
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.protocol import StoreUnavailable
from router.snapshot.store.state import Pin
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.faulty_proxy import FaultyProxy

Stores = Callable[..., BucketStore]
NOW = timedelta(0)


@pytest.fixture
def built(tmp_path: Path) -> list[Path]:
    """The snapshots "a", "b" and "c": each has a file of its own and one that all have."""
    return [
        write_bare_snapshot(
            tmp_path / "built" / name,
            {"own": name.encode(), "shared": b"in all"},
            sequence=number,
            content_hash=name * 64,
            inputs_hash=name,
        )
        for number, name in enumerate("abc", 1)
    ]


@pytest.fixture
def stocked(stores: Stores, built: list[Path]) -> BucketStore:
    """A store of the three, the last of which is current."""
    store = stores()
    for folder in built:
        store.upload(folder)
    store.publish("c")
    return store


def names(store: BucketStore) -> list[str]:
    return [stored.name for stored in store.snapshots()]


def files(store: BucketStore) -> int:
    return len(list(store.objects.list("files/")))


def test_what_is_removed_stays_for_readers_until_the_grace_period_is_over(stocked: BucketStore, stores: Stores) -> None:
    assert stocked.retain(1) == ["a", "b"]
    assert names(stores("two")) == ["c"]
    assert stocked.retain(1) == []
    assert (files(stocked), stores("reader").local_folder("a").name) == (4, "a")
    assert stores("two", grace=NOW).retain(1) == []
    assert files(stocked) == 2
    assert {stored.name for stored in stocked.objects.list("snapshots/")} == {manifest_object("c")}
    assert stores("three").local_folder("c").is_dir()
    with pytest.raises(SnapshotInvalid, match="has no snapshot 'a'"):
        stores("three").local_folder("a")
    assert RemoteCatalog(stocked.objects).head()[0].removed == {}


def test_a_snapshot_whose_manifest_is_being_removed_comes_back_only_after_that(
    stocked: BucketStore, stores: Stores, built: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked.retain(1)
    other, collector = stores("two"), stores("three", grace=NOW)
    delete = collector.objects.delete
    refused: list[str] = []

    def delete_late(names: Iterable[str]) -> None:
        if not refused:
            for bring_back in (partial(other.upload, built[1]), partial(other.publish, "b")):
                with pytest.raises(StoreUnavailable, match="retention is removing b since") as refusal:
                    bring_back()
                refused.append(str(refusal.value))
        delete(names)

    monkeypatch.setattr(collector.objects, "delete", delete_late)
    collector.retain(1)
    assert len(refused) == 2
    other.upload(built[1])
    other.publish("b")
    assert stores("four").local_folder("b").is_dir()


def test_a_snapshot_that_came_back_before_its_manifest_was_removed_stays(
    stocked: BucketStore, stores: Stores, built: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked.retain(1)
    other, collector = stores("two"), stores("three", grace=NOW)
    head = collector._transactions._remote.head
    reads: list[None] = []

    def head_late() -> object:
        read = head()
        reads.append(None)
        if len(reads) == 2:  # the one by which it chooses what to remove
            other.upload(built[1])
            other.publish("b")
        return read

    monkeypatch.setattr(collector._transactions._remote, "head", head_late)
    collector.retain(3)
    assert other.current() == "b" and stores("four").local_folder("b").is_dir()


def test_a_removal_that_was_broken_off_is_finished_by_the_next(
    stocked: BucketStore, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked.retain(1)
    killed = stores("two", grace=NOW)
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable, match="killed"):
        patch.setattr(killed.objects, "delete", Mock(side_effect=StoreUnavailable("killed")))
        killed.retain(1)
    assert stocked.retain(1) == [] and set(RemoteCatalog(stocked.objects).head()[0].going) == {"a", "b"}
    stores("three", grace=NOW).retain(1)
    assert not RemoteCatalog(stocked.objects).head()[0].going and files(stocked) == 2


def test_files_that_no_manifest_names_go_when_they_are_old(stocked: BucketStore, stores: Stores) -> None:
    stocked.objects.put("files/" + "0" * 64, b"of a killed upload")
    stocked.objects.put(reservation_object("killed"), b"x")
    stocked.objects.put("notes.txt", b"not ours")
    stocked.retain(5)
    assert files(stocked) == 5
    stores("two", grace=NOW).retain(5)
    left = {stored.name for stored in stocked.objects.list("")}
    assert files(stocked) == 4 and reservation_object("killed") not in left and "notes.txt" in left


def test_an_object_that_a_listing_shows_older_than_it_is_stays(
    stocked: BucketStore, stores: Stores, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "files/" + "0" * 64
    stocked.objects.put(name, b"sent just now")
    collector = stores("two")
    listed = type(collector.objects).list

    def listed_as_old(objects: object, prefix: str) -> object:
        for stored in listed(objects, prefix):  # type: ignore[arg-type]
            yield type(stored)(stored.name, stored.size, datetime(2020, 1, 1, tzinfo=UTC))

    monkeypatch.setattr(type(collector.objects), "list", listed_as_old)
    collector.retain(5)
    monkeypatch.undo()
    assert stocked.objects.stat(name) is not None and files(stocked) == 5


def test_nothing_is_swept_where_it_cannot_be_told_what_is_needed(stocked: BucketStore, stores: Stores) -> None:
    stocked.objects.put(manifest_object("foreign"), b"{}")
    with pytest.raises(SnapshotInvalid, match="manifest of foreign does not list its files"):
        stores("two", grace=NOW).retain(5)
    stocked.objects.delete([manifest_object("foreign"), manifest_object("c")])
    with pytest.raises(SnapshotInvalid, match="has lost the manifest of c: no file was removed"):
        stores("two", grace=NOW).retain(5)
    assert files(stocked) == 4


def test_files_of_a_snapshot_of_another_format_stay(stocked: BucketStore, stores: Stores, tmp_path: Path) -> None:
    folder = write_bare_snapshot(tmp_path / "built/later", {"own": b"later"}, sequence=9, versions={"format": 999})
    data = (folder / "manifest.json").read_bytes()
    sha256 = json.loads(data)["files"]["own"]
    stocked.objects.put(f"files/{sha256}", b"later")
    stocked.objects.put(manifest_object("later"), data)
    store = stores("two", grace=NOW)
    assert names(store)[0] == "later" and store.snapshots()[0].problem
    store.retain(5)
    assert stocked.objects.stat(f"files/{sha256}") is not None


def test_a_clock_that_is_wrong_removes_nothing_too_early(
    stocked: BucketStore, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Any:
            return datetime.now(UTC) + timedelta(days=400)

    monkeypatch.setattr("pipeline.store.bucket.store.datetime", Ahead)
    stocked.retain(1)
    stocked.retain(1)
    assert files(stocked) == 4


def test_what_is_pushed_again_is_back_and_a_pin_stays(stocked: BucketStore, stores: Stores, built: list[Path]) -> None:
    collector = stores("two", grace=NOW)
    assert stocked.retain(1) == ["a", "b"]
    stocked.upload(built[0])
    stocked.write_state(replace(stocked.state(), pin=Pin("b", "2026-01-01")))
    collector.retain(2)
    assert names(stocked) == ["c", "a"]
    for name in "ab":
        assert stores("three").local_folder(name).is_dir()


def test_a_snapshot_that_is_gone_is_not_published_from_memory(stocked: BucketStore, stores: Stores) -> None:
    for name in "abc":
        stocked.local_folder(name)
    for _ in range(2):
        stores("two", grace=NOW).retain(1)
    with pytest.raises(SnapshotInvalid, match="has no snapshot 'a'"):
        stocked.publish("a")
    assert stocked.current() == "c"
    stocked.retain(1)
    assert [stored.name for stored in stocked.cache.snapshots()] == ["c"], "the cache keeps as many as the bucket"
