"""A store that keeps snapshots as zip files, for tests of what stands behind the store's protocol."""

import io
import shutil
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pipeline.store import StoreState, decisions, removable
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.store import Stored


def zipped(folder: Path) -> bytes:
    """Return a folder as a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


class ZipStore:
    """Snapshots as zip files by name. A snapshot is unpacked when a reader first asks for it."""

    label = "zip://office"

    def __init__(self, local: Path) -> None:
        self.objects: dict[str, bytes] = {}
        self.pointer: str | None = None
        self.remembered = StoreState().to_json()
        self._lock = threading.Lock()
        self._local = local

    def current(self) -> str | None:
        return self.pointer

    def publication(self) -> str | None:
        return self.current()

    def local_folder(self, name: str) -> Path:
        folder = self._local / name
        if name not in self.objects:
            raise SnapshotInvalid(f"{self.label} has no snapshot {name!r}")
        if not folder.exists():
            with zipfile.ZipFile(io.BytesIO(self.objects[name])) as archive:
                archive.extractall(self._local / f".{name}")
            (self._local / f".{name}").rename(folder)
        return folder

    def snapshots(self) -> list[Stored]:
        stored = [Stored(name, Manifest.read(self.local_folder(name)), name == self.pointer) for name in self.objects]
        return sorted(stored, key=lambda stored: stored.order, reverse=True)

    @contextmanager
    def staging(self, content_hash: str) -> Iterator[Path]:
        folder = self._local / f".staged-{content_hash[:8]}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
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
        removed = removable(self, self.state(), keep)
        for name in removed:
            del self.objects[name]
        return removed

    def rollback(self) -> str:
        return decisions.rollback(self)

    def state(self) -> StoreState:
        return StoreState.from_json(self.remembered, self.label)

    def write_state(self, state: StoreState) -> None:
        self.remembered = state.to_json()

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self._lock:
            yield

    def take_sequence(self) -> int:
        with self.locked():
            state = replace(self.state(), sequence=self.state().sequence + 1)
            self.write_state(state)
        return state.sequence
