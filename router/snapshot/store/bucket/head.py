"""What the object CURRENT holds: all of a catalog that changes, so that one conditional write changes it."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from router.contract import CURRENT, MANIFEST, SIGNATURE
from router.errors import SnapshotInvalid
from router.fingerprint import fingerprint
from router.snapshot.store.pointer import is_snapshot_name
from router.snapshot.store.protocol import StoreUnavailable
from router.snapshot.store.state import StoreState

MOST_BYTES = 16 << 20
_CHECKSUM = "checksum"
_REMEMBERED = 32  # changes: more writers at one instant than there will be


@dataclass(frozen=True, slots=True)
class Head:
    """What serves, and what the store remembers.

    `snapshot` is the current one; None where nothing was published. `pointer` is the text of the signed statement about
    the snapshot that an operator went back to; empty where there is none. `revision` grows by one with each change, so
    that no two versions have the same bytes, and so the same ETag. `changes` are random names of the last changes, the
    newest first, by which a writer whose answer was lost knows its own write. `removed` maps the snapshots that
    retention took from the list to when it did: UTC, ISO 8601. Their objects stay for a grace period after that.
    `going` maps those of them whose manifests are being removed to when that began: they cannot come back until it is
    done.
    """

    snapshot: str | None = None
    state: StoreState = field(default_factory=StoreState)
    pointer: str = ""
    revision: Annotated[int, Meta(ge=0)] = 0
    changes: tuple[str, ...] = ()
    removed: Mapping[str, str] = field(default_factory=dict)
    going: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> set[str]:
        """Return the snapshots that must be there: the current one and the pinned one."""
        pin = self.state.pin
        return {name for name in (self.snapshot, pin and pin.snapshot) if name}

    def bringing_back(self, snapshot: str, place: str) -> "Head":
        """Return the head in which retention has not removed a snapshot.

        Raises StoreUnavailable where somebody is removing its manifest from `place` right now.
        """
        if snapshot in self.going:
            raise StoreUnavailable(
                f"{place}: retention is removing {snapshot} since {self.going[snapshot]}: try again when it is done"
            )
        return self.without_removed([snapshot])

    def removing(self, snapshots: Iterable[str], now: datetime) -> "Head":
        """Return the head whose list lacks some snapshots."""
        return replace(self, removed={**self.removed, **dict.fromkeys(snapshots, _text(now))})

    def letting_go(self, snapshots: Iterable[str], now: datetime) -> "Head":
        """Return the head in which somebody has begun to remove the manifests of some removed snapshots."""
        return replace(self, going={**self.going, **dict.fromkeys(snapshots, _text(now))})

    def without_removed(self, snapshots: Collection[str]) -> "Head":
        """Return the head that remembers no removal of some snapshots: they are back, or gone for good."""
        removed, going = (
            {name: at for name, at in times.items() if name not in snapshots} for times in (self.removed, self.going)
        )
        return replace(self, removed=removed, going=going)

    def changed_by(self, change: str, before: "Head") -> "Head":
        """Return this head as the next version after `before`, with the name of the change."""
        changes = (change, *before.changes[: _REMEMBERED - 1])
        return replace(self, revision=before.revision + 1, changes=changes)

    def to_json(self) -> bytes:
        """Return the object's bytes, with a checksum of the rest."""
        row = json.loads(json.dumps(asdict(self)))
        row[_CHECKSUM] = fingerprint(row)
        return json.dumps(row, indent=2, ensure_ascii=False, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes, place: str) -> "Head":
        """Return the head in an object's bytes. Raises SnapshotInvalid where `place` holds none.

        Keys that this version does not know are ignored. One without a checksum is read: an older version wrote it.
        """
        try:
            raw: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
            if _CHECKSUM in raw and raw.pop(_CHECKSUM) != fingerprint(raw):
                raise SnapshotInvalid(f"{place} is damaged: its checksum does not match its content")
            if lacking := {"snapshot", "revision"} - raw.keys():
                raise SnapshotInvalid(f"{place} is damaged: it lacks {min(lacking)}")
            head = msgspec.convert(raw, cls)
        except (ValueError, RecursionError) as error:
            raise SnapshotInvalid(f"{place} is damaged: {error}") from error
        if head.snapshot is not None and not is_snapshot_name(head.snapshot):
            raise SnapshotInvalid(f"{place} is damaged: {head.snapshot!r:.100} is not the name of a snapshot")
        return head


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")


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
