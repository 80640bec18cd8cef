"""Find the current snapshot of a folder. No other module reads the file CURRENT."""

import os
from pathlib import Path

from router.contract import CURRENT, MANIFEST
from router.errors import SnapshotInvalid


def read_current(catalog: Path) -> tuple[str, int]:
    """Return the text of a catalog's CURRENT, stripped, and when it was written, in nanoseconds.

    Raises OSError or UnicodeDecodeError where it cannot be read.
    """
    # Both come from one opened file: two reads could see two publications.
    with (catalog / CURRENT).open(encoding="utf-8") as stream:
        return stream.read().strip(), os.fstat(stream.fileno()).st_mtime_ns


def write_current(catalog: Path, snapshot: str) -> None:
    """Replace a catalog's CURRENT in one step: readers see the old name or the new one."""
    pointer = catalog / f".{CURRENT}"
    with pointer.open("w", encoding="utf-8") as stream:
        stream.write(snapshot + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    pointer.replace(catalog / CURRENT)


def snapshot_folder(path: Path) -> Path:
    """Return the snapshot's folder, given itself or a catalog's folder with CURRENT. Raises SnapshotInvalid."""
    if (path / MANIFEST).is_file():
        return path
    try:
        name, _ = read_current(path)
    except (FileNotFoundError, NotADirectoryError):
        if names := sorted(manifest.parent.name for manifest in path.glob(f"[!.]*/{MANIFEST}")):
            raise SnapshotInvalid(
                f"{path} serves no snapshot: its newest was held back, or never published. To serve it: "
                f"quartermaster snapshots {path.name} --use {names[-1]}"
            ) from None
        problem = "has neither a manifest.json nor a CURRENT" if path.is_dir() else "does not exist"
        raise SnapshotInvalid(f"no snapshot at {path}: it {problem}; build one with `quartermaster build`") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotInvalid(f"{path / CURRENT} cannot be read: {error}") from error
    # CURRENT is one folder's name, never a path that leads elsewhere.
    if not name or name != Path(name).name or name.startswith("."):
        raise SnapshotInvalid(f"{path / CURRENT} holds {name!r}, which is not the name of a snapshot")
    if not (path / name / MANIFEST).is_file():
        raise SnapshotInvalid(f"{path / CURRENT} names {name}, which is not a complete snapshot in {path}")
    return path / name
