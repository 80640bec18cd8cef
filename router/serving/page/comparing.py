"""One request to two snapshots of a catalog: what moved."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from router.answer.results import RoutedTools
from router.errors import SettingsInvalid
from router.router import Router
from router.store import ReadableStore, Stored, open_store

# Opened ones that are kept: each has an encoder of its own in memory.
_OPENED = 2


@dataclass(frozen=True, slots=True)
class Moved:
    """A tool of either answer, with its place in both; None where an answer lacks it."""

    tool_id: str
    before: int | None
    after: int | None

    @property
    def by(self) -> int | None:
        """How many places it rose (positive) or fell."""
        return None if self.before is None or self.after is None else self.before - self.after


def moved(before: RoutedTools, after: RoutedTools) -> list[Moved]:
    """The tools of both answers: those of the later one in its order, then those that it lacks."""
    was = {tool_id: rank for rank, tool_id in enumerate(before.ids, 1)}
    now = {tool_id: rank for rank, tool_id in enumerate(after.ids, 1)}
    order = (*now, *(tool_id for tool_id in was if tool_id not in now))
    return [Moved(tool_id, was.get(tool_id), now.get(tool_id)) for tool_id in order]


class SnapshotCache:
    """A catalog's snapshots, some of them opened; `source` is a store, a catalog's folder or a snapshot's."""

    def __init__(self, source: Path | ReadableStore) -> None:
        self._store = open_store(source)
        self._opened: OrderedDict[str, Router] = OrderedDict()
        self._opening = threading.Lock()

    def snapshots(self) -> list[Stored]:
        """Those that this router can read, newest first."""
        return [stored for stored in self._store.snapshots() if stored.manifest is not None]

    def folder(self, snapshot: str) -> Path:
        """The folder of a snapshot's id. Raises SettingsInvalid where the catalog has none such."""
        names = [stored.name for stored in self.snapshots()]
        if snapshot not in names:  # never a path of somebody's making
            raise SettingsInvalid(f"the catalog has no snapshot {snapshot!r}")
        return self._store.local_folder(snapshot)

    def opened(self, snapshot: str) -> Router:
        """A router over a snapshot, opened and verified at its first use. Raises SettingsInvalid, SnapshotInvalid."""
        with self._opening:
            if snapshot not in self._opened:
                self._opened[snapshot] = Router.open(self.folder(snapshot))
            self._opened.move_to_end(snapshot)
            while len(self._opened) > _OPENED:
                self._opened.popitem(last=False)
            return self._opened[snapshot]
