"""A catalog's snapshots on disk: staging, atomic publication, CURRENT, retention, rollback."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from router.contract import CURRENT, MANIFEST, Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.snapshot.snapshot import Snapshot

_STAGING = ".building-"


def catalogs(workspace: Path) -> list[str]:
    """The catalogs of a workspace, by name."""
    folder = workspace / "snapshots"
    return sorted(f.name for f in folder.iterdir() if f.is_dir()) if folder.is_dir() else []


def last_built(workspace: Path) -> str | None:
    """The catalog whose newest snapshot is the newest of the workspace; None where it has no catalog.

    Catalogs that serve a snapshot go before those that serve none. Ids begin with the time in seconds: of snapshots of
    one second, the catalog is chosen whose name comes first.
    """
    stores = {name: SnapshotStore(workspace, name) for name in catalogs(workspace)}
    return max(
        stores,  # by rising name, and `max` keeps the first of equals
        key=lambda name: (stores[name].current() is not None, (stores[name].newest() or "").partition("-")[0]),
        default=None,
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot folder and its manifest; `problem` says why the manifest is None."""

    folder: Path
    manifest: Manifest | None
    current: bool
    problem: str = ""

    @property
    def held(self) -> bool:
        """Whether the gate held it back, and nobody has published it since."""
        return not self.current and self.manifest is not None and bool(self.manifest.held)


class SnapshotStore:
    """The folder `<workspace>/<area>/<catalog>`, area "snapshots" for what serves.

    One build writes at a time (the ledger's lock sees to it); any number read.
    """

    def __init__(self, workspace: Path, catalog: str, area: str = "snapshots") -> None:
        self.folder = workspace / area / catalog

    def current(self) -> str | None:
        """The name that CURRENT holds; None where nothing was published."""
        try:
            return (self.folder / CURRENT).read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None

    def newest(self) -> str | None:
        """The name of the newest complete snapshot, serving or not; None where there is none."""
        return max((folder.name for folder in self._folders()), default=None)

    def snapshots(self) -> list[Stored]:
        """Every complete snapshot, newest first."""
        current = self.current()
        found = []
        for folder in sorted(self._folders(), reverse=True):
            try:
                found.append(Stored(folder, Manifest.read(folder), folder.name == current))
            except SnapshotInvalid as error:
                found.append(Stored(folder, None, folder.name == current, str(error)))
        return found

    @contextmanager
    def staging(self, content_hash: str) -> Iterator[Path]:
        """A folder to build in, whose name after the prefix is the new snapshot's id; gone if the build fails."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for leftover in self.folder.glob(f"{_STAGING}*"):
            shutil.rmtree(leftover)  # of a killed build
        folder = self.folder / f"{_STAGING}{self._new_id(content_hash)}"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def seal(self, staged: Path) -> Path:
        """Move a verified staging folder to its place. It does not serve before `publish`."""
        folder = self.folder / staged.name.removeprefix(_STAGING)
        staged.rename(folder)
        return folder

    def publish(self, snapshot: str) -> None:
        """Point CURRENT at a snapshot: readers see the old one or the new one, whole. Raises SnapshotInvalid."""
        if not (self.folder / snapshot / MANIFEST).is_file() or snapshot != Path(snapshot).name:
            raise SnapshotInvalid(f"{self.folder} has no snapshot {snapshot!r}")
        pointer = self.folder / f".{CURRENT}"
        with pointer.open("w", encoding="utf-8") as stream:
            stream.write(snapshot + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        pointer.replace(self.folder / CURRENT)

    def retain(self, keep: int) -> list[str]:
        """Remove old snapshots and return their names.

        Kept are CURRENT's, the newest `keep` that may serve, and of those held back only the newest: a catalog that is
        held night after night must not push out what can be rolled back to.
        """
        found = self.snapshots()
        serving = [stored for stored in found if not stored.held]
        held = [stored for stored in found if stored.held]
        spare = [stored.folder for stored in (*serving[keep:], *held[1:]) if not stored.current]
        for folder in spare:
            # Renamed first: a reader that opens it meets no folder rather than half of one.
            doomed = folder.rename(folder.with_name(f"{_STAGING}{folder.name}"))
            shutil.rmtree(doomed)
        return sorted(folder.name for folder in spare)

    def rollback(self) -> str:
        """Publish the newest snapshot older than CURRENT's that opens and was not held back.

        Returns its name; raises SettingsInvalid where there is none.
        """
        current = self.current()
        for stored in self.snapshots():
            if current and stored.folder.name < current and stored.manifest and not stored.held:
                try:
                    Snapshot.open(stored.folder)
                except SnapshotInvalid:
                    continue
                self.publish(stored.folder.name)
                return stored.folder.name
        raise SettingsInvalid(
            f"{self.folder} has no snapshot before {current} that opens: there is nothing to roll back to"
        )

    def _folders(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from (f for f in self.folder.iterdir() if not f.name.startswith(".") and (f / MANIFEST).is_file())

    def _new_id(self, content_hash: str) -> str:
        """UTC time and the content's first 8 digits; ids sort by age, so two of one second wait for the next."""
        while True:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
            if not (self.newest() or "").startswith(stamp):
                return f"{stamp}-{content_hash[:8]}"
            time.sleep(0.1)
