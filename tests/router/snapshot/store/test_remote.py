"""A store elsewhere: snapshots as zip files in a dict, read and published through the two protocols alone."""

import logging
import shutil
import time
from pathlib import Path

import pytest

from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import MANIFEST
from router.serving.page.comparing import SnapshotCache
from router.store import DecisionStore, ReadableStore, WritableStore, current_folder
from tests.support.publishing import Publications, corrupt, look
from tests.support.zip_store import ZipStore

REQUEST = "give the customer their money back"


@pytest.fixture
def store(tmp_path: Path, snapshot: Path) -> ZipStore:
    """A store of the snapshots `a` and `b`, stored as a build stores them; `a` is current."""
    made = ZipStore(tmp_path / "local")
    built = Publications(tmp_path / "built", snapshot)
    for name, weights in (("a", None), ("b", {"description": 1.0})):
        with made.staging(name * 64) as folder:
            shutil.copytree(
                built.add(name, weights=weights, content_hash=name * 64, inputs_hash=""), folder, dirs_exist_ok=True
            )
            made.seal(folder)
    shutil.rmtree(tmp_path / "built")
    shutil.rmtree(tmp_path / "local")
    made.fetched.clear()
    made.publish("a")
    return made


def test_it_has_both_protocols(store: ZipStore) -> None:
    readable: ReadableStore = store
    writable: WritableStore = store
    deciding: DecisionStore = store
    assert isinstance(readable, ReadableStore) and isinstance(writable, WritableStore)
    assert isinstance(deciding, DecisionStore)
    assert not isinstance(Path(), ReadableStore)


def test_a_router_fetches_the_current_snapshot_alone(store: ZipStore) -> None:
    assert Router.open(store).route(REQUEST).snapshot == "a"
    assert store.fetched == ["a"]


def test_a_router_follows_publications_and_a_rollback(store: ZipStore) -> None:
    router = Router.open(store)
    first = router.route(REQUEST)
    assert router.reload() is False
    store.publish("b")
    assert router.reload() is True
    assert router.route(REQUEST).snapshot == "b"
    assert router.route(REQUEST).ids != first.ids
    assert store.rollback() == "a"
    assert router.reload() is True
    assert router.route(REQUEST).ids == first.ids
    assert store.fetched == ["a", "b"]


def test_a_watching_router_reloads_by_itself(store: ZipStore) -> None:
    with Router.open(store, watch=0.01) as router:
        store.publish("b")
        end = time.monotonic() + 20
        while router.route(REQUEST).snapshot == "a" and time.monotonic() < end:
            time.sleep(0.005)
        assert router.manifest.snapshot == "b"


def test_a_store_that_cannot_be_reached_is_warned_of_once_and_read_again_later(
    store: ZipStore, caplog: pytest.LogCaptureFixture
) -> None:
    router = Router.open(store)
    store.reachable = False
    with caplog.at_level(logging.WARNING, "router"):
        for _ in range(6):
            look(router)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "zip://office" in caplog.text and "no route to host" in caplog.text
    assert router.route(REQUEST).snapshot == "a"
    with pytest.raises(SnapshotInvalid, match="zip://office cannot be read: no route to host"):
        Router.open(store)
    store.reachable = True
    store.publish("b")
    look(router)
    assert router.manifest.snapshot == "b"


def test_a_snapshot_that_was_damaged_on_the_way_is_refused(store: ZipStore) -> None:
    router = Router.open(store)
    corrupt(store.local_folder("b"))
    store.publish("b")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        router.reload()
    assert router.route(REQUEST).snapshot == "a"


def test_a_store_without_a_publication_is_refused_by_its_label(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match="zip://office serves no snapshot"):
        Router.open(ZipStore(tmp_path))


def test_the_page_compares_snapshots_of_any_store(store: ZipStore) -> None:
    cache = SnapshotCache(store)
    assert [stored.name for stored in cache.snapshots()] == ["b", "a"]
    assert cache.opened("b").manifest.snapshot == "b"
    with pytest.raises(SettingsInvalid, match="has no snapshot"):
        cache.opened("c")


def test_what_is_removed_from_the_store_can_be_served_on(store: ZipStore) -> None:
    store.publish("b")
    router = Router.open(store)
    store.publish("a")
    assert store.retain(0) == ["b"]
    assert router.route(REQUEST).snapshot == "b"
    assert router.reload() is True
    assert (current_folder(store) / MANIFEST).is_file()
