"""The names of a catalog's objects, relative to its URL.

CURRENT                             what serves and what was decided, see `head`: by conditional write
files/<sha256>                      the content of a file, once for all snapshots that have it: never changes
snapshots/<name>/manifest.json      written after the files that it names: never changes
snapshots/<name>/manifest.sig.json  only where the snapshot is signed: more keys may sign
snapshots/<name>/building           keeps the name for the build that is writing the snapshot
clock                               written to learn the bucket's time, and that it can be written to
"""

from router.contract import CURRENT, MANIFEST, SIGNATURE

HEAD = CURRENT
FILES = "files/"
SNAPSHOTS = "snapshots/"
CLOCK = "clock"
_RESERVED = "building"


def file_object(sha256: str) -> str:
    """Return the name of the object that holds the file of this content."""
    return f"{FILES}{sha256}"


def manifest_object(snapshot: str) -> str:
    """Return the name of a snapshot's manifest: a snapshot is in the bucket if this object is."""
    return f"{SNAPSHOTS}{snapshot}/{MANIFEST}"


def signature_object(snapshot: str) -> str:
    """Return the name of the signatures of a snapshot's manifest."""
    return f"{SNAPSHOTS}{snapshot}/{SIGNATURE}"


def reservation_object(snapshot: str) -> str:
    """Return the name of the object that keeps a snapshot's name for one build."""
    return f"{SNAPSHOTS}{snapshot}/{_RESERVED}"


def snapshot_of(name: str) -> str | None:
    """Return the snapshot that a manifest's object is of; None for any other object."""
    parts = name.split("/")
    return parts[1] if len(parts) == 3 and f"{parts[0]}/" == SNAPSHOTS and parts[2] == MANIFEST else None
