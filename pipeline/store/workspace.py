"""The catalogs of a workspace: a folder of snapshots each."""

from pathlib import Path

from pipeline.store.local import SnapshotStore
from router.contract import sequence_in


def catalogs(workspace: Path) -> list[str]:
    """Return the names of a workspace's catalogs, sorted."""
    folder = workspace / "snapshots"
    return sorted(f.name for f in folder.iterdir() if f.is_dir()) if folder.is_dir() else []


def last_built(workspace: Path) -> str | None:
    """Return the catalog whose newest snapshot is the newest of the workspace; None where there is no catalog.

    Catalogs that serve a snapshot go before those that serve none. Snapshots without a number are compared by the time
    in seconds with which their names begin; ties are broken by the catalog's name.
    """

    def age(name: str) -> tuple[bool, int, str]:
        store = SnapshotStore(workspace, name)
        newest = store.newest() or ""
        return store.current() is not None, sequence_in(store.folder / newest), newest.partition("-")[0]

    return max(catalogs(workspace), key=age, default=None)  # sorted by name, and `max` returns the first of equals
