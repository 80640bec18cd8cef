"""A catalog's snapshots in a folder: staging, atomic publication, retention, rollback."""

import shutil
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from router.contract import MANIFEST, Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.pointer import read_current, write_current
from router.snapshot.store.protocol import Stored

_STAGING = ".building-"


def catalogs(workspace: Path) -> list[str]:
    """Return the names of a workspace's catalogs, sorted."""
    folder = workspace / "snapshots"
    return sorted(f.name for f in folder.iterdir() if f.is_dir()) if folder.is_dir() else []


def last_built(workspace: Path) -> str | None:
    """Return the catalog whose newest snapshot is the newest of the workspace; None where there is no catalog.

    Catalogs that serve a snapshot go before those that serve none. Snapshot names begin with the time in seconds: ties
    are broken by the catalog's name.
    """
    stores = {name: SnapshotStore(workspace, name) for name in catalogs(workspace)}
    return max(
        stores,  # sorted by name, and `max` returns the first of equals
        key=lambda name: (stores[name].current() is not None, (stores[name].newest() or "").partition("-")[0]),
        default=None,
    )


class SnapshotStore:
    """The store in the folder `<workspace>/<area>/<catalog>`. The area "snapshots" holds what serves.

    It is a `WritableStore`. One build writes at a time, which the ledger's lock ensures; any number may read.
    """

    def __init__(self, workspace: Path, catalog: str, area: str = "snapshots") -> None:
        self.folder = workspace / area / catalog

    @classmethod
    def at(cls, folder: Path) -> "SnapshotStore":
        """Return the store in a catalog's folder."""
        return cls(folder.parent.parent, folder.name, folder.parent.name)

    @property
    def label(self) -> str:
        """Return the folder's path."""
        return str(self.folder)

    def current(self) -> str | None:
        """Return the name that CURRENT holds; None where nothing was published."""
        try:
            return read_current(self.folder)[0] or None
        except FileNotFoundError:
            return None

    def publication(self) -> Hashable:
        """Return the text and the time of CURRENT; None where nothing was published."""
        try:
            return read_current(self.folder)
        except FileNotFoundError:
            return None

    def newest(self) -> str | None:
        """Return the name of the newest complete snapshot, published or not; None where there is none."""
        return max((folder.name for folder in self._folders()), default=None)

    def local_folder(self, name: str) -> Path:
        """Return the folder of a complete snapshot. Raises SnapshotInvalid where there is none of that name."""
        folder = self.folder / name
        if name != Path(name).name or name.startswith(".") or not (folder / MANIFEST).is_file():
            raise SnapshotInvalid(f"{self.folder} has no snapshot {name!r}")
        return folder

    def snapshots(self) -> list[Stored]:
        """Return every complete snapshot, newest first."""
        current = self.current()
        stored = []
        for folder in sorted(self._folders(), reverse=True):
            try:
                stored.append(Stored(folder.name, Manifest.read(folder), folder.name == current))
            except SnapshotInvalid as error:
                stored.append(Stored(folder.name, None, folder.name == current, str(error)))
        return stored

    @contextmanager
    def staging(self, content_hash: str) -> Iterator[Path]:
        """Make a folder to build in, whose name ends in the new snapshot's, and remove it at the end of the block."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for leftover in self.folder.glob(f"{_STAGING}*"):
            shutil.rmtree(leftover)  # of a killed build
        folder = self.folder / f"{_STAGING}{self._new_name(content_hash)}"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def seal(self, staged: Path) -> Path:
        """Move a verified staging folder to its place and return that. It is not current before `publish`."""
        folder = self.folder / staged.name.removeprefix(_STAGING)
        staged.rename(folder)
        return folder

    def publish(self, snapshot: str) -> None:
        """Point CURRENT at a snapshot: readers see the old one or the new one, whole. Raises SnapshotInvalid."""
        write_current(self.folder, self.local_folder(snapshot).name)

    def retain(self, keep: int) -> list[str]:
        """Remove old snapshots and return their names, sorted.

        The current one stays, the newest `keep` that may serve, and the newest that was held back: a catalog that is
        held back every night must not push out what can be rolled back to.
        """
        stored = self.snapshots()
        serviceable = [snapshot for snapshot in stored if not snapshot.held]
        held_back = [snapshot for snapshot in stored if snapshot.held]
        removed = [snapshot.name for snapshot in (*serviceable[keep:], *held_back[1:]) if not snapshot.current]
        if removed:
            from router.snapshot.store.deltas.databases import restore_dependents  # with sqlite3

            restore_dependents(self.folder, removed)
        for name in removed:
            # Renamed first: a reader that opens it meets no folder rather than half of one.
            doomed = (self.folder / name).rename(self.folder / f"{_STAGING}{name}")
            shutil.rmtree(doomed)
        return sorted(removed)

    def save_space(self) -> list[str]:
        """Store the `catalog.duckdb` of snapshots that do not serve as deltas; return what could not be done."""
        from router.snapshot.store.deltas.databases import store_as_deltas  # with sqlite3

        current = self.current()
        return store_as_deltas(self.folder, current) if current else []

    def rollback(self) -> str:
        """Publish the newest snapshot older than the current one that opens and was not held back.

        Returns its name. Raises SettingsInvalid where there is none.
        """
        current = self.current()
        for stored in self.snapshots():
            if current and stored.name < current and stored.manifest and not stored.held:
                try:
                    Snapshot.open(self.folder / stored.name)
                except SnapshotInvalid:
                    continue
                self.publish(stored.name)
                return stored.name
        raise SettingsInvalid(
            f"{self.folder} has no snapshot before {current} that opens: there is nothing to roll back to"
        )

    def _folders(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from (f for f in self.folder.iterdir() if not f.name.startswith(".") and (f / MANIFEST).is_file())

    def _new_name(self, content_hash: str) -> str:
        """Return the UTC time in seconds and the first 8 digits of the hash, later than every stored snapshot.

        Names sort by age, so the second of two snapshots in one second waits for the next.
        """
        while True:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
            if not (self.newest() or "").startswith(stamp):
                return f"{stamp}-{content_hash[:8]}"
            time.sleep(0.1)
