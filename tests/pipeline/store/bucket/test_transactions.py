"""Changes of CURRENT: one conditional write each, done once whatever answer gets lost, and never over another's."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import decisions, publication
from pipeline.store.bucket.store import BucketStore
from pipeline.store.serviceable import is_held
from router.errors import SettingsInvalid, SnapshotInvalid
from router.fingerprint import fingerprint
from router.snapshot.store.bucket.head import Head
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.state import Pin, StoreState
from router.store import StoreChanged
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy

Stores = Callable[..., BucketStore]


@pytest.fixture
def stocked(stores: Stores, tmp_path: Path) -> BucketStore:
    """A store with the snapshots "a", "b" and "c", of which "a" is current."""
    store = stores()
    for number, name in enumerate("abc", 1):
        fields = {"content_hash": name * 64, "inputs_hash": name}
        store.upload(write_bare_snapshot(tmp_path / "built" / name, {"x": name.encode()}, sequence=number, **fields))
    store.begin_build()
    assert publication.publish_build(store, "a") == ()
    return store


def revision(store: BucketStore) -> int:
    return RemoteCatalog(store.objects).head()[0].revision


def test_a_decision_is_one_write_and_one_that_fails_is_none(stocked: BucketStore) -> None:
    before = revision(stocked)
    with stocked.locked():
        stocked.write_state(replace(stocked.state(), sequence=7))
        stocked.publish("b")
        stocked.write_signed_pointer("signed")
        assert (stocked.current(), stocked.state().sequence) == ("b", 7)
        assert [stored.name for stored in stocked.snapshots() if stored.current] == ["b"]
    assert revision(stocked) == before + 1
    assert (stocked.current(), stocked.signed_pointer()) == ("b", b"signed")
    with pytest.raises(RuntimeError), stocked.locked():
        stocked.publish("c")
        raise RuntimeError
    assert (revision(stocked), stocked.current()) == (before + 1, "b")


@pytest.mark.parametrize("kind", ["lost answer", "failed answer"])
def test_a_write_whose_answer_was_lost_counts_once(stocked: BucketStore, proxy: FaultyProxy, kind: Any) -> None:
    before = revision(stocked)
    proxy.plan.set(Fault(kind, "PUT", "*/CURRENT", times=1))
    stocked.publish("b")
    assert proxy.plan.counts[kind] == 1
    assert (stocked.current(), revision(stocked)) == ("b", before + 1)


def test_a_lost_write_is_known_beneath_a_later_one(stocked: BucketStore, stores: Stores, proxy: FaultyProxy) -> None:
    numbers: list[int] = []
    other = stores("two")
    overtake = Fault("lost answer", "PUT", "*/CURRENT", times=1, act=lambda: numbers.append(other.take_sequence()))
    proxy.plan.set(overtake)
    assert (stocked.take_sequence(), numbers) == (4, [5])


def test_an_overtaken_decision_is_made_again(stocked: BucketStore, stores: Stores, proxy: FaultyProxy) -> None:
    other = stores("two")
    with pytest.raises(StoreChanged), stocked.locked():
        stocked.publish("b")
        other.publish("c")
    assert other.current() == "c"
    proxy.plan.set(Fault("delay", "GET", "*/CURRENT", times=1, act=other.take_sequence))
    assert (stocked.take_sequence(), other.take_sequence()) == (5, 6)
    assert proxy.plan.counts["delay"] == 1


def test_what_another_build_overtook_counts_as_held(stocked: BucketStore, stores: Stores, tmp_path: Path) -> None:
    def held() -> list[str]:
        return [stored.name for stored in stocked.snapshots() if is_held(stored, stocked.state())]

    other = stores("two")
    for store in (stocked, other):
        store.begin_build()
    same = {"content_hash": "c" * 64, "inputs_hash": "c"}
    stocked.upload(write_bare_snapshot(tmp_path / "built/d", {"x": b"c"}, sequence=4, **same))
    assert publication.publish_build(other, "c") == ()
    assert publication.publish_build(stocked, "b") and held() == ["b"]
    assert publication.publish_build(stocked, "d") == ()
    stocked.publish("b")
    assert held() == [], "an operator chose it"


def taken(stores: list[BucketStore]) -> list[int]:
    """Take numbers from stores at once, eight each."""
    with ThreadPoolExecutor() as pool:
        numbers = pool.map(lambda store: [store.take_sequence() for _ in range(8)], stores)
        return sorted(number for some in numbers for number in some)


def test_numbers_are_unique_over_threads_and_machines(stocked: BucketStore, stores: Stores) -> None:
    assert taken([stocked, stocked, stores("two")]) == list(range(4, 4 + 8 * 3))


def test_no_publication_of_builds_at_once_is_lost(stocked: BucketStore, stores: Stores, tmp_path: Path) -> None:
    machines = {f"n{number}": stores(f"machine {number}") for number in range(3)}
    with ThreadPoolExecutor() as pool:
        for turn in range(2):
            for name, store in machines.items():
                path = tmp_path / f"built/{name}-{turn}"
                store.upload(write_bare_snapshot(path, {"x": b"x"}, content_hash=path.name, sequence=100 + turn))
                store.begin_build()
            names = [f"{name}-{turn}" for name in machines]
            held = list(pool.map(publication.publish_build, machines.values(), names))
            (winner,) = [name for name, reasons in zip(names, held, strict=True) if not reasons]
            assert stocked.current() == winner
            assert all(f"{winner} serves since" in reason for reasons in held for reason in reasons)


def test_a_build_is_held_where_another_published_in_the_instant_of_its_publication(
    stocked: BucketStore, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked.begin_build()
    other = stores("two")
    publish = stocked.publish

    def publish_late(name: str) -> None:
        monkeypatch.undo()
        other.publish("c")
        publish(name)

    monkeypatch.setattr(stocked, "publish", publish_late)
    (reason,) = publication.publish_build(stocked, "b")
    assert "c serves since this build began, and it was compared with a" in reason
    assert other.current() == "c"


def test_a_rollback_never_leaves_what_was_published_after_it_was_asked_for(
    stocked: BucketStore, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked.publish("b")
    other = stores("two")
    locked = stocked.locked

    def locked_late() -> object:
        monkeypatch.undo()
        other.publish("c")
        return locked()

    monkeypatch.setattr(stocked, "locked", locked_late)
    with pytest.raises(SettingsInvalid, match="c was published meanwhile: nothing was changed"):
        decisions.rollback(stocked)
    assert other.current() == "c"


def test_a_damaged_current_is_an_error_and_no_empty_store(stocked: BucketStore) -> None:
    for damaged in (b"{", b'{"snapshot": "\xff"}'):
        stocked.objects.put("CURRENT", damaged)
        for ask in (stocked.current, stocked.take_sequence):
            with pytest.raises(SnapshotInvalid, match="CURRENT is damaged"):
                ask()


HEAD = Head(
    "né", StoreState(sequence=7, pin=Pin("a", "ops")), "signed", 3, ("change",), {"b": "2026-01-01"}, {"b": "x"}
)


def test_it_is_read_as_it_was_written_and_a_changed_byte_is_told_by_the_checksum() -> None:
    assert Head.from_json(HEAD.to_json(), "CURRENT") == HEAD
    with pytest.raises(SnapshotInvalid, match="CURRENT is damaged: its checksum does not match its content"):
        Head.from_json(HEAD.to_json().replace(b'"sequence": 7', b'"sequence": 3'), "CURRENT")


def test_an_earlier_one_has_no_checksum_and_the_keys_of_a_later_one_count_in_it_and_are_ignored() -> None:
    raw = json.loads(HEAD.to_json()) | {"later": 1}
    with pytest.raises(SnapshotInvalid, match="checksum"):
        Head.from_json(json.dumps(raw).encode(), "CURRENT")
    del raw["checksum"]
    assert Head.from_json(json.dumps({**raw, "checksum": fingerprint(raw)}).encode(), "CURRENT") == HEAD
    del raw["going"]
    assert Head.from_json(json.dumps(raw).encode(), "CURRENT") == replace(HEAD, going={})
