"""A catalog's folder: its snapshots, which of them is current, and what was decided about them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from router.contract import CURRENT, MANIFEST, POINTER_SIGNATURE, Manifest, sequence_in
from router.errors import SnapshotInvalid
from router.files import read_in
from router.snapshot.store.durable import make_folder, replace_text, sync, sync_tree
from router.snapshot.store.locking import lock_file
from router.snapshot.store.pointer import (
    STATE,
    is_snapshot_name,
    read_current,
    read_signed_pointer,
    stored_folders,
    write_current,
)
from router.snapshot.store.protocol import Stored

if TYPE_CHECKING:
    from router.snapshot.store.state import StoreState

_MOST_STATE = 16 << 20  # bytes: a line for each rollback and each snapshot that was accepted
_LOCK = ".lock"


class CatalogFolder:
    """The snapshots in a catalog's folder. It is a `SignedStore`; builds write through `pipeline.store.SnapshotStore`.

    What it writes itself, the cache of a bucket needs: it says what the bucket says.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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

        Raises SnapshotInvalid where it is not text.
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

    def local_folder(self, name: str) -> Path:
        """Return the folder of a complete snapshot. Raises SnapshotInvalid where there is none of that name."""
        folder = self.folder / name
        if not is_snapshot_name(name) or not (folder / MANIFEST).is_file():
            raise SnapshotInvalid(f"{self.folder} has no snapshot {name!r}")
        return folder

    def snapshots(self) -> list[Stored]:
        """Return every complete snapshot, newest first. None is current where CURRENT is not text."""
        current, stored = None, []
        with suppress(SnapshotInvalid):  # so that another can be made to serve
            current = self.current()
        for folder in stored_folders(self.folder):
            try:
                stored.append(Stored(folder.name, Manifest.read(folder), folder.name == current))
            except SnapshotInvalid as error:
                stored.append(Stored(folder.name, None, folder.name == current, str(error), sequence_in(folder)))
        return stored

    def publish(self, snapshot: str) -> None:
        """Point CURRENT at a snapshot: readers see the old one or the new one, whole. Raises SnapshotInvalid."""
        folder = self.local_folder(snapshot)
        sync_tree(folder)  # sealed snapshots are on disk; one that was copied here may not be
        sync(self.folder)
        write_current(self.folder, folder.name)

    def state(self) -> "StoreState":
        """Return what `state.json` holds; nothing where there is none. Raises SnapshotInvalid where it is damaged."""
        from router.snapshot.store.state import StoreState  # here: no answer needs it

        path = self.folder / STATE
        try:
            return StoreState.from_json(read_in(self.folder, STATE, _MOST_STATE)[0], str(path))
        except FileNotFoundError:
            return StoreState()
        except OSError as error:
            raise SnapshotInvalid(f"{path} cannot be read: {error}") from error

    def write_state(self, state: "StoreState") -> None:
        """Replace `state.json` in one step that outlasts a power loss."""
        replace_text(self.folder / STATE, state.to_json())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from changing the state or CURRENT inside the block; wait for one that does."""
        make_folder(self.folder)
        with lock_file(self.folder / _LOCK):
            yield
