"""What every store promises to routers, builds and operators, whatever it is made of."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.store import WritableStore, decisions
from router import Router, SnapshotInvalid
from router.contract import MANIFEST
from router.snapshot.store.state import Pin, StoreState
from router.store import ReadableStore, current_folder
from tests.support.publishing import Publications, corrupt
from tests.support.stores import put


@pytest.fixture
def built(tmp_path: Path, thinnest: Path) -> Publications:
    return Publications(tmp_path / "built", thinnest)


@pytest.fixture
def store(empty: WritableStore, built: Publications) -> WritableStore:
    """A store of each kind with the snapshots `a`, `b` and `c`, by their numbers 1 to 3; `a` serves."""
    for sequence, name in enumerate("abc", 1):
        put(empty, built.add(name, sequence=sequence, content_hash=name * 64, inputs_hash=name))
    empty.publish("a")
    return empty


def names(store: ReadableStore) -> str:
    return "".join(stored.name for stored in store.snapshots())


def test_nothing_serves_before_it_is_published(empty: WritableStore) -> None:
    assert (empty.current(), empty.snapshots(), empty.state()) == (None, [], StoreState())
    with pytest.raises(SnapshotInvalid) as refused:
        Router.open(empty)
    assert empty.label in str(refused.value)


def test_one_snapshot_serves_and_the_others_are_listed_the_newest_first(store: WritableStore) -> None:
    assert [(stored.name, stored.current) for stored in store.snapshots()] == [("c", False), ("b", False), ("a", True)]
    before = store.publication()
    store.publish("b")
    assert store.current() == "b" and store.publication() != before
    assert [stored.name for stored in store.snapshots() if stored.current] == ["b"]
    assert (current_folder(store) / MANIFEST).is_file()


@pytest.mark.parametrize("name", ["nothing", "../a", ""])
def test_a_snapshot_that_is_not_there_can_be_neither_published_nor_read(store: WritableStore, name: str) -> None:
    for ask in (store.publish, store.local_folder):
        with pytest.raises(SnapshotInvalid, match="has no snapshot"):
            ask(name)
    assert store.current() == "a"


def test_a_router_follows_publications_and_a_rollback(store: WritableStore) -> None:
    router = Router.open(store)
    assert (router.route("refund").snapshot, router.reload()) == ("a", False)
    store.publish("b")
    assert router.reload() is True and router.route("refund").snapshot == "b"
    assert decisions.rollback(store) == "a"
    assert router.reload() is True and router.route("refund").snapshot == "a"


def test_a_damaged_snapshot_is_refused_and_what_served_serves_on(store: WritableStore) -> None:
    router = Router.open(store)
    corrupt(store.local_folder("b"))
    store.publish("b")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        router.reload()
    assert router.route("refund").snapshot == "a"


def test_a_build_is_stored_when_it_is_sealed_or_not_at_all(store: WritableStore, built: Publications) -> None:
    new = built.add("d", sequence=4)
    with pytest.raises(RuntimeError), store.staging("d" * 64) as staged:
        (staged / "half").write_text("written", encoding="utf-8")
        raise RuntimeError
    assert names(store) == "cba" and not staged.exists()
    put(store, new)
    assert names(store) == "dcba" and store.current() == "a"


def test_retention_keeps_what_serves_the_newest_and_the_pinned_one(store: WritableStore) -> None:
    router = Router.open(store)
    store.publish("b")
    store.write_state(replace(store.state(), pin=Pin("a", "2026-01-01")))
    assert store.retain(1) == []
    store.write_state(replace(store.state(), pin=None))
    store.publish("c")
    assert store.retain(0) == ["a"]  # b is what a rollback would go to
    assert names(store) == "cb"
    assert router.route("refund").snapshot == "a", "a router serves on what was removed"
    assert router.reload() and router.manifest.snapshot == "c"


def test_numbers_rise_and_what_is_remembered_is_read_back(store: WritableStore) -> None:
    taken = [store.take_sequence() for _ in range(3)]
    assert taken == sorted(set(taken)) and store.state().sequence == taken[-1]
    state = StoreState(9, Pin("a", "2026-01-01"), accepted=("b",), overtaken=("c",))
    with store.locked():
        store.write_state(state)
    assert store.state() == state
