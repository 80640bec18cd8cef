"""A catalog's snapshots in a folder: staging, atomic publication, retention, rollback."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from router.contract import CURRENT, MANIFEST, POINTER_SIGNATURE, Manifest, sequence_in
from router.errors import SnapshotInvalid
from router.files import read_in
from router.snapshot.store import decisions
from router.snapshot.store.durable import make_folder, replace_text, sync, sync_tree
from router.snapshot.store.locking import lock_file, lock_folder
from router.snapshot.store.modes import make_read_only
from router.snapshot.store.names import STATE, is_snapshot_name
from router.snapshot.store.pointer import read_current, read_signed_pointer, stored_folders, write_current
from router.snapshot.store.protocol import Stored
from router.snapshot.store.retention import removable
from router.snapshot.store.state import StoreState

_MOST_STATE = 16 << 20  # bytes: a line for each rollback and each snapshot that was accepted
_LOCK = ".lock"
_STAGING = ".building-"


class SnapshotStore:
    """The store in the folder `<workspace>/<area>/<catalog>`. The area "snapshots" holds what serves.

    It is a `DecisionStore`. One build writes at a time, which the ledger's lock ensures; any number may read.
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

    @property
    def catalog(self) -> str:
        """Return the catalog's name, which is its folder's."""
        return self.folder.name

    def signed_pointer(self) -> bytes | None:
        """Return the signed statement beside CURRENT; None where there is none. Raises SnapshotInvalid."""
        return read_signed_pointer(self.folder)

    def write_signed_pointer(self, text: str) -> None:
        """Replace the signed statement beside CURRENT, in one step that outlasts a power loss."""
        replace_text(self.folder / POINTER_SIGNATURE, text)

    def current(self) -> str | None:
        """Return the name that CURRENT holds; None where nothing was published. Raises as `publication`."""
        published = self.publication()
        return published[0] or None if published else None

    def publication(self) -> tuple[str, int] | None:
        """Return the text and the time of CURRENT; None where nothing was published.

        Raises SnapshotInvalid where it is no text.
        """
        try:
            return read_current(self.folder)
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise SnapshotInvalid(
                f"{self.folder / CURRENT} cannot be read: {error}. Name the snapshot that is to serve: "
                f"quartermaster snapshots {self.folder.name} --use ID"
            ) from error

    def newest(self) -> str | None:
        """Return the name of the newest complete snapshot, published or not; None where there is none."""
        folders = stored_folders(self.folder)
        return folders[0].name if folders else None

    def local_folder(self, name: str) -> Path:
        """Return the folder of a complete snapshot. Raises SnapshotInvalid where there is none of that name."""
        folder = self.folder / name
        if not is_snapshot_name(name) or not (folder / MANIFEST).is_file():
            raise SnapshotInvalid(f"{self.folder} has no snapshot {name!r}")
        return folder

    def snapshots(self) -> list[Stored]:
        """Return every complete snapshot, newest first. None is current where CURRENT is no text."""
        current, stored = None, []
        with suppress(SnapshotInvalid):  # so that another can be made to serve
            current = self.current()
        for folder in stored_folders(self.folder):
            try:
                stored.append(Stored(folder.name, Manifest.read(folder), folder.name == current))
            except SnapshotInvalid as error:
                stored.append(Stored(folder.name, None, folder.name == current, str(error), sequence_in(folder)))
        return stored

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
        """Point CURRENT at a snapshot: readers see the old one or the new one, whole. Raises SnapshotInvalid."""
        from router.snapshot.store.deltas.databases import restore_serving  # with sqlite3

        folder = self.local_folder(snapshot)
        sync_tree(folder)  # sealed snapshots are on disk; one that was copied here may not be
        sync(self.folder)
        write_current(self.folder, folder.name)
        restore_serving(folder)

    def retain(self, keep: int) -> list[str]:
        """Remove the snapshots that `removable` names, and what killed builds left; return their names, sorted."""
        from router.snapshot.store.deltas.databases import restore_dependents  # with sqlite3

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
        from router.snapshot.store.deltas.databases import store_as_deltas  # with sqlite3

        current = self.current()
        return store_as_deltas(self.folder, current) if current else []

    def rollback(self) -> str:
        """Publish the newest snapshot before the current one that may serve: see `decisions.rollback`."""
        return decisions.rollback(self)

    def state(self) -> StoreState:
        """Return what `state.json` holds; nothing where there is none. Raises SnapshotInvalid where it is damaged."""
        path = self.folder / STATE
        try:
            return StoreState.from_json(read_in(self.folder, STATE, _MOST_STATE)[0], str(path))
        except FileNotFoundError:
            return StoreState()
        except OSError as error:
            raise SnapshotInvalid(f"{path} cannot be read: {error}") from error

    def write_state(self, state: StoreState) -> None:
        """Replace `state.json` in one step that outlasts a power loss."""
        replace_text(self.folder / STATE, state.to_json())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from changing the state or CURRENT inside the block; wait for one that does."""
        make_folder(self.folder)
        with lock_file(self.folder / _LOCK):
            yield

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
