"""What a store remembers beside its snapshots: the last number that it gave, and what an operator decided."""

from dataclasses import dataclass, replace

import msgspec

from router.contract import Manifest
from router.errors import SnapshotInvalid


@dataclass(frozen=True, slots=True)
class Pin:
    """The snapshot that serves until it is unpinned. `at` is when it was pinned, UTC, ISO 8601."""

    snapshot: str
    at: str


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Content that an operator rolled back from, and the snapshot that served it. `at` is in UTC, ISO 8601."""

    snapshot: str
    content_hash: str
    at: str
    inputs_hash: str = ""

    def covers(self, content_hash: str, inputs_hash: str) -> bool:
        """Return True for the same content, and for what another build made of the same inputs."""
        return content_hash == self.content_hash or (bool(inputs_hash) and inputs_hash == self.inputs_hash)


@dataclass(frozen=True, slots=True)
class StoreState:
    """What a store remembers.

    `sequence` is the last number that it gave to a snapshot. `rolled_back` is content that no build may publish.
    `accepted` names the held snapshots that an operator has published: they count as held no more. `overtaken` names
    snapshots that never served, because another build published first: they count as held.
    """

    sequence: int = 0
    pin: Pin | None = None
    rolled_back: tuple[RolledBack, ...] = ()
    accepted: tuple[str, ...] = ()
    overtaken: tuple[str, ...] = ()

    def rollback_of(self, content_hash: str, inputs_hash: str) -> RolledBack | None:
        """Return the last rollback from some content; None where there was none."""
        return next((left for left in reversed(self.rolled_back) if left.covers(content_hash, inputs_hash)), None)

    def leaving(self, manifest: Manifest, at: str) -> "StoreState":
        """Return the state after a rollback from a snapshot."""
        left = RolledBack(manifest.snapshot, manifest.content_hash, at, manifest.inputs_hash)
        others = (other for other in self.rolled_back if other.content_hash != left.content_hash)
        return replace(self, rolled_back=(*others, left))

    def releasing(self, manifest: Manifest) -> "StoreState":
        """Return the state in which builds may publish the content of a snapshot again."""
        return replace(
            self,
            rolled_back=tuple(
                left for left in self.rolled_back if not left.covers(manifest.content_hash, manifest.inputs_hash)
            ),
        )

    def to_json(self) -> str:
        """Return the state as JSON text."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, place: str) -> "StoreState":
        """Return the state in JSON text from `place`. Raises SnapshotInvalid where it is none.

        Keys that this version does not know are ignored.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (ValueError, RecursionError) as error:
            raise SnapshotInvalid(
                f"{place} is damaged: {error}. Restore it, or remove it: pins and rollbacks "
                "are then forgotten, and builds publish again"
            ) from error
