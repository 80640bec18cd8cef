"""What a router serves from: the snapshot of this moment, which may be another at the next."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from router.snapshot.freshness import Freshness
from router.snapshot.overlay import Overlay
from router.snapshot.snapshot import Snapshot
from router.snapshot.trust import Trust


class LiveSnapshot(Protocol):
    """A snapshot that may be replaced while a router serves: see `router.snapshot.reloading`."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that serves now."""
        ...

    @property
    def overlay(self) -> Overlay:
        """The overlay on it."""
        ...

    @property
    def refusal(self) -> str:
        """Why the newest publication was refused; empty where it serves."""
        ...

    @property
    def freshness(self) -> Freshness:
        """When what serves was last found to be the newest."""
        ...

    @property
    def trust(self) -> Trust | None:
        """What it trusts; None where no signature is checked."""
        ...

    def reload(self) -> bool:
        """Serve the store's current snapshot; return whether it is another one."""
        ...

    def change(self, change: Callable[[Overlay], Overlay]) -> Overlay:
        """Replace the overlay by `change` of it, and return the new one."""
        ...

    def save(self, path: Path) -> None:
        """Write the overlay to a file."""
        ...

    def close(self) -> None:
        """End its threads."""
        ...
