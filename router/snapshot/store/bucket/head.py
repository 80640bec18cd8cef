"""What the object CURRENT holds: all of a catalog that changes, so that one conditional write changes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from router.errors import SnapshotInvalid
from router.files import name_problem
from router.snapshot.store.state import StoreState

MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Head:
    """What serves, and what the store remembers.

    `snapshot` is the current one; None where nothing was published. `pointer` is the text of the signed statement about
    the snapshot that an operator went back to; empty where there is none. `revision` grows by one with each change, so
    that no two versions have the same bytes, and so the same ETag. `change` is a random name of the last change, by
    which a writer whose answer was lost knows its own write. `left` maps snapshots that were current to when they
    ceased to be: UTC, ISO 8601.
    """

    snapshot: str | None = None
    state: StoreState = field(default_factory=StoreState)
    pointer: str = ""
    revision: int = 0
    change: str = ""
    left: Mapping[str, str] = field(default_factory=dict)

    def publishing(self, snapshot: str, at: str) -> "Head":
        """Return the head in which a snapshot serves; `at` is now."""
        left = {name: since for name, since in self.left.items() if name != snapshot}
        if self.snapshot is not None and self.snapshot != snapshot:
            left[self.snapshot] = at
        return replace(self, snapshot=snapshot, left=left)

    def to_json(self) -> bytes:
        """Return the object's bytes."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes, place: str) -> "Head":
        """Return the head in an object's bytes. Raises SnapshotInvalid where `place` holds none.

        Keys that this version does not know are ignored.
        """
        try:
            raw: dict[str, Any] = json.loads(data)
            snapshot, pointer, revision, left = (
                raw["snapshot"],
                raw.get("pointer", ""),
                raw["revision"],
                raw.get("left", {}),
            )
            state = StoreState.from_json(json.dumps(raw.get("state", {})), place)
            right = isinstance(pointer, str) and isinstance(revision, int) and revision >= 0 and isinstance(left, dict)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise SnapshotInvalid(f"{place} is damaged: {type(error).__name__}: {error}") from error
        if not right or not (snapshot is None or (isinstance(snapshot, str) and "/" not in snapshot)):
            raise SnapshotInvalid(f"{place} is damaged: it is not what this version writes")
        if snapshot is not None and (problem := name_problem(snapshot)):
            raise SnapshotInvalid(f"{place} is damaged: the name {snapshot!r:.100} {problem}")
        return cls(
            snapshot,
            state,
            pointer,
            revision,
            str(raw.get("change", "")),
            {str(name): str(since) for name, since in left.items()},
        )
