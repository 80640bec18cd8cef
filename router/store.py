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

_STAGING = ".building-"


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot folder and its manifest; `problem` says why the manifest is None."""

    folder: Path
    manifest: Manifest | None
    current: bool
    problem: str = ""


class SnapshotStore:
    """The folder `snapshots/<catalog>`. One build writes at a time (the ledger's lock sees to it); any number read."""

    def __init__(self, workspace: Path, catalog: str) -> None:
        self.folder = workspace / "snapshots" / catalog

    def current(self) -> str | None:
        """The name that CURRENT holds; None where nothing was published."""
        try:
            return (self.folder / CURRENT).read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None

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
        """Remove all but the newest `keep` snapshots; CURRENT's is never removed. Returns the removed names."""
        current = self.current()
        spare = [folder for folder in sorted(self._folders(), reverse=True)[keep:] if folder.name != current]
        for folder in spare:
            # Renamed first: a reader that opens it meets no folder rather than half of one.
            doomed = folder.rename(folder.with_name(f"{_STAGING}{folder.name}"))
            shutil.rmtree(doomed)
        return [folder.name for folder in spare]

    def rollback(self) -> str:
        """Publish the newest snapshot older than CURRENT's. Returns its name; raises SettingsInvalid without one."""
        current = self.current()
        older = [folder.name for folder in sorted(self._folders(), reverse=True) if current and folder.name < current]
        if not older:
            raise SettingsInvalid(
                f"{self.folder} has no snapshot older than {current}: there is nothing to roll back to"
            )
        self.publish(older[0])
        return older[0]

    def _folders(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from (f for f in self.folder.iterdir() if not f.name.startswith(".") and (f / MANIFEST).is_file())

    def _new_id(self, content_hash: str) -> str:
        """UTC time and the content's first 8 digits; ids sort by age, so two of one second wait for the next."""
        while True:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
            newest = max((folder.name for folder in self._folders()), default="")
            if not newest.startswith(stamp):
                return f"{stamp}-{content_hash[:8]}"
            time.sleep(0.1)
