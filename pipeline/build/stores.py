"""The store that a build publishes into: the catalog's folder in the workspace, or a bucket that the settings name."""

from pathlib import Path

from pipeline.errors import SettingsInvalid
from pipeline.progress import Progress
from pipeline.settings import CatalogSettings
from pipeline.store import SharedStore, SnapshotStore, WritableStore

SERVING_AREA = "snapshots"


def store_of(settings: CatalogSettings, workspace: Path, area: str, progress: Progress) -> WritableStore:
    """Return the store of a catalog. An experiment in another area never leaves the workspace.

    Raises SettingsInvalid where the bucket cannot be used as the settings say.
    """
    folder = SnapshotStore(workspace, settings.name, area)
    to = settings.publish.to
    if to is None or area != SERVING_AREA:
        return folder
    from pipeline.store.bucket.store import BucketStore

    store = BucketStore(to, folder.folder, grace=settings.publish.grace, progress=progress)
    if settings.publish.sign_key is not None and store.catalog != settings.name:
        raise SettingsInvalid(
            f"publish.to: {to} must end with /{settings.name}, the catalog's name: routers that check signatures take "
            "the name from the address"
        )
    return store


def begin(store: WritableStore, *, writes: bool = True) -> None:
    """Note what serves when a build begins, in a store that other builds may write to. Raises StoreUnavailable."""
    if isinstance(store, SharedStore):
        store.begin_build(writes=writes)
