"""Find the current snapshot of a folder. No other module reads the file CURRENT."""

from pathlib import Path

from router.contract import CURRENT, MANIFEST, POINTER_SIGNATURE, sequence_in
from router.errors import SnapshotInvalid
from router.files import name_problem, read_in
from router.snapshot.store.durable import replace_text

_MOST_BYTES = 4096  # of CURRENT, which holds one name
_MOST_SIGNED = 65_536  # bytes


def read_current(catalog: Path) -> tuple[str, int]:
    """Return the text of a catalog's CURRENT, stripped, and when it was written, in nanoseconds.

    Raises OSError or UnicodeDecodeError where it cannot be read.
    """
    # Both come from one opened file: two reads could see two publications.
    data, status = read_in(catalog, CURRENT, _MOST_BYTES)
    return data.decode().strip(), status.st_mtime_ns


def write_current(catalog: Path, snapshot: str) -> None:
    """Replace a catalog's CURRENT in one step that outlasts a power loss: readers see the old name or the new one.

    Raises OSError where that fails; the old name then stays.
    """
    replace_text(catalog / CURRENT, snapshot + "\n")


def read_signed_pointer(catalog: Path) -> bytes | None:
    """Return the signed statement beside CURRENT; None where there is none. Raises SnapshotInvalid."""
    try:
        return read_in(catalog, POINTER_SIGNATURE, _MOST_SIGNED)[0]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotInvalid(f"{catalog / POINTER_SIGNATURE} cannot be read: {error}") from error


def stored_folders(catalog: Path) -> list[Path]:
    """Return the folders of a catalog's complete snapshots, newest first: by their numbers, then by name."""
    folders = (manifest.parent for manifest in catalog.glob(f"[!.]*/{MANIFEST}"))
    return sorted(folders, key=lambda folder: (sequence_in(folder), folder.name), reverse=True)


def snapshot_folder(path: Path) -> Path:
    """Return the snapshot's folder, given itself or a catalog's folder with CURRENT. Raises SnapshotInvalid."""
    if (path / MANIFEST).is_file():
        return path
    try:
        name, _ = read_current(path)
    except (FileNotFoundError, NotADirectoryError):
        if stored := stored_folders(path):
            raise SnapshotInvalid(
                f"{path} serves no snapshot: its newest was held back, or never published. To serve it: "
                f"quartermaster snapshots {path.name} --use {stored[0].name}"
            ) from None
        raise SnapshotInvalid(f"no snapshot at {path}: it {_what_is_there(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotInvalid(f"{path / CURRENT} cannot be read: {error}") from error
    # CURRENT is one folder's name, never a path that leads elsewhere.
    if not is_snapshot_name(name):
        raise SnapshotInvalid(f"{path / CURRENT} holds {name!r}, which is not the name of a snapshot")
    if not (path / name / MANIFEST).is_file():
        raise SnapshotInvalid(f"{path / CURRENT} names {name}, which is not a complete snapshot in {path}")
    return path / name


def _what_is_there(path: Path) -> str:
    """Return what a path without a snapshot is, and what to open or to run."""
    if not path.exists():
        return "does not exist; build one with `quartermaster build`"
    places = ("", "snapshots/", ".quartermaster/snapshots/")
    found = sorted(current.parent for place in places for current in path.glob(f"{place}*/{CURRENT}"))
    if found:
        more = f", or one of {len(found) - 1} more beside it" if len(found) > 1 else ""
        return f"has catalogs inside: open {found[0]}{more}"
    if (path / "catalog.toml").is_file():
        return f"is a catalog to build: run `quartermaster build {path}`, and open the folder that it prints"
    return "has neither a manifest.json nor a CURRENT; build one with `quartermaster build`"


STATE = "state.json"
ORIGIN = "bucket"
"""The file that holds the address of the bucket whose cache a folder is."""

_BESIDE = (CURRENT, POINTER_SIGNATURE, STATE, ORIGIN)


def is_snapshot_name(name: str) -> bool:
    """Return whether a snapshot may have a name: of one folder, neither hidden nor in the place of another file."""
    return not name_problem(name) and "/" not in name and not name.startswith(".") and name not in _BESIDE
