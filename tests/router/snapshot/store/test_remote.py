"""A store elsewhere: snapshots as zip files in a dict, read and published through the two protocols alone."""

import io
import logging
import shutil
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import MANIFEST, Manifest
from router.serving.page.comparing import SnapshotCache
from router.snapshot.snapshot import Snapshot
from router.store import ReadableStore, Stored, WritableStore, current_folder
from tests.support.publishing import Publications, corrupt

REQUEST = "give the customer their money back"


class ZipStore:
    """Snapshots as zip files by name. A snapshot is unpacked when a reader first asks for it."""

    label = "zip://office"

    def __init__(self, local: Path) -> None:
        self.objects: dict[str, bytes] = {}
        self.pointer: str | None = None
        self.reachable = True
        self.fetched: list[str] = []
        self._local = local

    def current(self) -> str | None:
        self._connect()
        return self.pointer

    def publication(self) -> str | None:
        return self.current()

    def local_folder(self, name: str) -> Path:
        self._connect()
        folder = self._local / name
        if name not in self.objects:
            raise SnapshotInvalid(f"{self.label} has no snapshot {name!r}")
        if not folder.exists():
            with zipfile.ZipFile(io.BytesIO(self.objects[name])) as archive:
                archive.extractall(self._local / f".{name}")
            (self._local / f".{name}").rename(folder)
            self.fetched.append(name)
        return folder

    def snapshots(self) -> list[Stored]:
        self._connect()
        return [
            Stored(name, Manifest.read(self.local_folder(name)), name == self.pointer)
            for name in sorted(self.objects, reverse=True)
        ]

    @contextmanager
    def staging(self, content_hash: str) -> Iterator[Path]:
        folder = self._local / f".staged-{content_hash[:8]}"
        folder.mkdir(parents=True)
        yield folder
        shutil.rmtree(folder)

    def seal(self, staged: Path) -> Path:
        name = Manifest.read(staged).snapshot
        self.objects[name] = zipped(staged)
        return self.local_folder(name)

    def publish(self, snapshot: str) -> None:
        if snapshot not in self.objects:
            raise SnapshotInvalid(f"{self.label} has no snapshot {snapshot!r}")
        self.pointer = snapshot

    def retain(self, keep: int) -> list[str]:
        removed = [stored.name for stored in self.snapshots()[keep:] if not stored.current]
        for name in removed:
            del self.objects[name]
        return sorted(removed)

    def rollback(self) -> str:
        for stored in self.snapshots():
            if self.pointer and stored.name < self.pointer and not stored.held:
                Snapshot.open(self.local_folder(stored.name))
                self.publish(stored.name)
                return stored.name
        raise SettingsInvalid(f"{self.label} has nothing to roll back to")

    def _connect(self) -> None:
        if not self.reachable:
            raise ConnectionError("no route to host")


def zipped(folder: Path) -> bytes:
    """Return a folder as a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


@pytest.fixture
def store(tmp_path: Path, snapshot: Path) -> ZipStore:
    """A store of the snapshots `a` and `b`, stored as a build stores them; `a` is current."""
    made = ZipStore(tmp_path / "local")
    built = Publications(tmp_path / "built", snapshot)
    for name, weights in (("a", None), ("b", {"description": 1.0})):
        with made.staging(name * 64) as folder:
            shutil.copytree(built.add(name, weights=weights), folder, dirs_exist_ok=True)
            made.seal(folder)
    shutil.rmtree(tmp_path / "built")
    shutil.rmtree(tmp_path / "local")
    made.fetched.clear()
    made.publish("a")
    return made


def test_it_has_both_protocols(store: ZipStore) -> None:
    readable: ReadableStore = store
    writable: WritableStore = store
    assert isinstance(readable, ReadableStore) and isinstance(writable, WritableStore)
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
            router._live.look()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "zip://office" in caplog.text and "no route to host" in caplog.text
    assert router.route(REQUEST).snapshot == "a"
    with pytest.raises(SnapshotInvalid, match="zip://office cannot be read: no route to host"):
        Router.open(store)
    store.reachable = True
    store.publish("b")
    router._live.look()
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
    router = Router.open(store)
    store.publish("b")
    assert store.retain(1) == ["a"]
    assert router.route(REQUEST).snapshot == "a"
    assert router.reload() is True
    assert (current_folder(store) / MANIFEST).is_file()
