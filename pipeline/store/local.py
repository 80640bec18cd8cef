"""A catalog's snapshots in a folder: staging, atomic publication, retention, rollback."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from pipeline.store.serviceable import removable
from router.contract import MANIFEST, sequence_in
from router.snapshot.store.durable import make_read_only, sync, sync_tree
from router.snapshot.store.folder import CatalogFolder
from router.snapshot.store.locking import lock_folder
from router.snapshot.store.pointer import stored_folders

_STAGING = ".building-"


class SnapshotStore(CatalogFolder):
    """The store in the folder `<workspace>/<area>/<catalog>`. The area "snapshots" holds what serves.

    One build writes at a time, which the ledger's lock ensures; any number may read.
    """

    def __init__(self, workspace: Path, catalog: str, area: str = "snapshots") -> None:
        super().__init__(workspace / area / catalog)

    @classmethod
    def at(cls, folder: Path) -> "SnapshotStore":
        """Return the store in a catalog's folder."""
        return cls(folder.parent.parent, folder.name, folder.parent.name)

    def newest(self) -> str | None:
        """Return the name of the newest complete snapshot, published or not; None where there is none."""
        folders = stored_folders(self.folder)
        return folders[0].name if folders else None

    @contextmanager
    def staging(self, content_hash: str, is_taken: Callable[[str], bool] = lambda name: False) -> Iterator[Path]:
        """Make a folder to build in, whose name ends in the new snapshot's, and remove it at the end of the block.

        `is_taken` tells whether another place has a snapshot of a name.
        """
        with ExitStack() as held:
            with self.locked():
                self._remove_leftovers()
                folder = self._new_folder(content_hash, is_taken)
                held.enter_context(lock_folder(folder))  # so that no other process takes it for a leftover
                held.callback(shutil.rmtree, folder, ignore_errors=True)
            yield folder

    def seal(self, staged: Path) -> Path:
        """Write a verified staging folder to disk, move it to its place and return that. It is not current yet."""
        folder = self.folder / staged.name.removeprefix(_STAGING)
        make_read_only(staged)
        sync_tree(staged)
        staged.rename(folder)
        try:
            sync(self.folder)
        except OSError:
            folder.rename(staged)  # a build that fails leaves nothing behind
            raise
        return folder

    def publish(self, snapshot: str) -> None:
        """Point CURRENT at a snapshot, and restore its `catalog.duckdb` from a delta. Raises SnapshotInvalid."""
        from pipeline.store.deltas.databases import restore_serving  # with sqlite3

        super().publish(snapshot)
        restore_serving(self.folder / snapshot)

    def retain(self, keep: int) -> list[str]:
        """Remove the snapshots that `removable` names, and what killed builds left; return their names, sorted."""
        from pipeline.store.deltas.databases import restore_dependents  # with sqlite3

        with self.locked():
            removed = removable(self, self.state(), keep)
            restore_dependents(self.folder, removed)
            for name in removed:
                # Renamed first: a reader that opens it meets no folder rather than half of one.
                (self.folder / name).rename(self.folder / f"{_STAGING}{name}")
            if removed:
                sync(self.folder)  # so does one after a power loss
            self._remove_leftovers()
        return removed

    def save_space(self) -> list[str]:
        """Store the `catalog.duckdb` of snapshots that do not serve as deltas; return what could not be done."""
        from pipeline.store.deltas.databases import store_as_deltas  # with sqlite3

        current = self.current()
        return store_as_deltas(self.folder, current) if current else []

    def take_sequence(self) -> int:
        """Return the next number of the workspace's area: `last_built` compares its catalogs."""
        with self.locked():
            state = self.state()
            sequence = 1 + max(state.sequence, self.last_number())
            self.write_state(replace(state, sequence=sequence))
        return sequence

    def last_number(self) -> int:
        """Return the largest number of a snapshot in the workspace's area, whatever its catalog; 0 without any."""
        manifests = self.folder.parent.glob(f"*/[!.]*/{MANIFEST}")
        return max((sequence_in(manifest.parent) for manifest in manifests), default=0)

    def _remove_leftovers(self) -> None:
        """Remove removed snapshots, and what killed builds left; not the folder of a build that is running."""
        for leftover in self.folder.glob(f"{_STAGING}*"):
            if leftover.is_symlink() or not leftover.is_dir():  # never one of ours: remove it, not what it leads to
                leftover.unlink()
                continue
            with suppress(BlockingIOError), lock_folder(leftover):
                shutil.rmtree(leftover)

    def _new_folder(self, content_hash: str, is_taken: Callable[[str], bool]) -> Path:
        """Make the staging folder of a new name: the UTC time in seconds, and the first 8 digits of the hash.

        Where the name is taken, a later second is. Names need not be later than those of other snapshots.
        """
        now = datetime.now(UTC)
        for seconds in count():
            name = f"{now + timedelta(seconds=seconds):%Y%m%dT%H%M%SZ}-{content_hash[:8]}"
            folder = self.folder / f"{_STAGING}{name}"
            if not (self.folder / name).exists() and not folder.exists() and not is_taken(name):
                folder.mkdir()
                return folder
        raise AssertionError  # `count` never ends
