"""The folder in which a store of a bucket keeps snapshots: laid out as a catalog's folder, so a router may open it."""

import logging
from pathlib import Path

from router.contract import MANIFEST, POINTER_SIGNATURE
from router.errors import SnapshotInvalid
from router.files import read_in
from router.snapshot.store.bucket.head import Head
from router.snapshot.store.durable import make_folder, replace_text
from router.snapshot.store.folder import CatalogFolder
from router.snapshot.store.names import ORIGIN

_MOST_BYTES = 4096

_logger = logging.getLogger(__name__)


def origin_of(folder: Path) -> str | None:
    """Return the address of the bucket whose cache a catalog's folder is; None where it is none.

    Raises SnapshotInvalid where the file that tells cannot be read.
    """
    try:
        return read_in(folder, ORIGIN, _MOST_BYTES)[0].decode().strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotInvalid(f"{folder / ORIGIN} cannot be read: {error}") from error


def mark(cache: CatalogFolder, url: str) -> None:
    """Write into a cache's folder which bucket it is of. Raises OSError."""
    if origin_of(cache.folder) != url:
        make_folder(cache.folder)
        replace_text(cache.folder / ORIGIN, url + "\n")


def mirror(cache: CatalogFolder, head: Head) -> None:
    """Let a cache say what its bucket says: the decisions, the signed pointer, and what serves, if it lies there.

    A failure is logged: the bucket has the truth.
    """
    try:
        with cache.locked():
            if cache.state() != head.state:
                cache.write_state(head.state)
            if (cache.signed_pointer() or b"").decode() != head.pointer:
                replace_text(cache.folder / POINTER_SIGNATURE, head.pointer)
            name = head.snapshot
            if name and cache.current() != name and (cache.folder / name / MANIFEST).is_file():
                cache.publish(name)
    except (OSError, SnapshotInvalid) as error:
        _logger.warning("%s cannot say what its bucket serves: %s", cache.folder, error)
