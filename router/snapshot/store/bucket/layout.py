"""The names of a catalog's objects, relative to its URL. All but CURRENT never change once they are written.

CURRENT                             what serves and what was decided, see `head`: by conditional write
snapshots/<name>/manifest.json      written after the files that it names
snapshots/<name>/manifest.sig.json  only where the snapshot is signed
files/<sha256>                      the content of a file, once for all snapshots that have it
"""

from router.contract import CURRENT, MANIFEST, SIGNATURE

HEAD = CURRENT
FILES = "files/"
SNAPSHOTS = "snapshots/"


def file_object(sha256: str) -> str:
    """Return the name of the object that holds the file of this content."""
    return f"{FILES}{sha256}"


def manifest_object(snapshot: str) -> str:
    """Return the name of a snapshot's manifest: a snapshot is in the bucket if this object is."""
    return f"{SNAPSHOTS}{snapshot}/{MANIFEST}"


def signature_object(snapshot: str) -> str:
    """Return the name of the signatures of a snapshot's manifest."""
    return f"{SNAPSHOTS}{snapshot}/{SIGNATURE}"


def snapshot_of(name: str) -> str | None:
    """Return the snapshot that a manifest's object is of; None for any other object."""
    parts = name.split("/")
    return parts[1] if len(parts) == 3 and f"{parts[0]}/" == SNAPSHOTS and parts[2] == MANIFEST else None
