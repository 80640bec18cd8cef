"""One request answered by two snapshots of a catalog: how the ranks of its tools changed."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from router.answer.results import RoutedTools
from router.errors import SettingsInvalid
from router.router import Router
from router.snapshot.difference import CatalogDifference
from router.snapshot.snapshot import Snapshot
from router.snapshot.trust import Trust, open_signed
from router.store import ReadableStore, Stored, open_store

# Snapshots kept open: each has its own encoder in memory.
_MAX_OPEN = 2
_MAX_DIFFERENCES = 4


@dataclass(frozen=True, slots=True)
class RankChange:
    """A tool of either answer with its ranks `before` and `after`, from 1; None where an answer lacks it."""

    tool_id: str
    before: int | None
    after: int | None

    @property
    def rise(self) -> int | None:
        """Return how many ranks the tool rose, negative if it fell; None if an answer lacks it."""
        return None if self.before is None or self.after is None else self.before - self.after


def rank_changes(before: RoutedTools, after: RoutedTools) -> list[RankChange]:
    """Return the tools of both answers: those of the later one in its order, then those that it lacks."""
    old_ranks = {tool_id: rank for rank, tool_id in enumerate(before.ids, 1)}
    new_ranks = {tool_id: rank for rank, tool_id in enumerate(after.ids, 1)}
    order = (*new_ranks, *(tool_id for tool_id in old_ranks if tool_id not in new_ranks))
    return [RankChange(tool_id, old_ranks.get(tool_id), new_ranks.get(tool_id)) for tool_id in order]


class SnapshotCache:
    """A catalog's snapshots, the last used of them open; `source` is a store, a catalog's folder or a snapshot's.

    With `trust`, each must be signed; older ones than served may be compared.
    """

    def __init__(self, source: Path | ReadableStore, trust: Trust | None = None) -> None:
        self._trust = trust
        self._store = open_store(source)
        self._opened: OrderedDict[str, Router] = OrderedDict()
        self._differences: OrderedDict[tuple[str, str], CatalogDifference] = OrderedDict()
        self._opening = threading.Lock()

    def snapshots(self) -> list[Stored]:
        """Return the snapshots that this router can read, newest first."""
        return [stored for stored in self._store.snapshots() if stored.manifest is not None]

    def folder(self, snapshot: str) -> Path:
        """Return the folder of a snapshot's id. Raises SettingsInvalid if the catalog has no such snapshot."""
        names = [stored.name for stored in self.snapshots()]
        if snapshot not in names:  # the id comes from a query string: it must not become a path
            raise SettingsInvalid(f"the catalog has no snapshot {snapshot!r}")
        return self._store.local_folder(snapshot)

    def opened(self, snapshot: str) -> Router:
        """Return a router over a snapshot, which is opened and verified at its first use.

        Raises SettingsInvalid if there is no such snapshot, SnapshotInvalid if it cannot be opened.
        """
        with self._opening:
            if snapshot not in self._opened:
                folder = self.folder(snapshot)
                opened = open_signed(folder, self._trust) if self._trust else Snapshot.open(folder)
                self._opened[snapshot] = Router(opened)
            self._opened.move_to_end(snapshot)
            while len(self._opened) > _MAX_OPEN:
                self._opened.popitem(last=False)
            return self._opened[snapshot]

    def difference(self, before: str, after: str) -> CatalogDifference:
        """Return what changed in the catalog from one snapshot to another. Raises what `opened` raises."""
        older, newer = self.opened(before), self.opened(after)
        known = self._differences
        if (before, after) not in known:
            known[before, after] = newer.difference(older)
        while len(known) > _MAX_DIFFERENCES:
            known.popitem(last=False)
        return known[before, after]


def last_two(stored: Sequence[Stored]) -> tuple[str, str]:
    """Return the names of the last two of some snapshots, which are sorted newest first: the older, then the newest."""
    return stored[min(1, len(stored) - 1)].name, stored[0].name
