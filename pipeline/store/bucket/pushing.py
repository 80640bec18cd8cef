"""Publishes a snapshot that lies in a folder of this machine in a bucket."""

from pathlib import Path

from pipeline.store import decisions
from pipeline.store.bucket.store import BucketStore
from pipeline.store.serviceable import find_current
from pipeline.store.whole import open_whole
from router.contract import SIGNATURE, Manifest
from router.errors import SettingsInvalid


def push(store: BucketStore, folder: Path, *, again: bool = False) -> tuple[str, ...]:
    """Send a snapshot to the bucket and publish it; return the reasons why it does not serve there.

    It does not where a gate held it, where an operator has decided against it, and where a newer one serves: going back
    is a decision of its own. `again` sends every file, whatever the bucket has.

    Raises SnapshotInvalid where the snapshot is damaged, SettingsInvalid where routers would refuse its signature, and
    as `BucketStore.upload` does.
    """
    manifest = open_whole(folder).manifest
    _require_catalog(store, folder, manifest)
    store.begin_build()
    store.upload(folder, again=again)
    if reasons := _reasons_against(store, manifest):
        return reasons
    return decisions.publish_build(store, manifest.snapshot)


def _require_catalog(store: BucketStore, folder: Path, manifest: Manifest) -> None:
    """Raise SettingsInvalid where routers that check signatures would expect another catalog at the address."""
    if (folder / SIGNATURE).is_file() and manifest.catalog != store.catalog:
        raise SettingsInvalid(
            f"{store.label} must end with /{manifest.catalog}, the catalog of {folder}: it is signed, and routers that "
            "check signatures take the catalog's name from the address"
        )


def _reasons_against(store: BucketStore, manifest: Manifest) -> tuple[str, ...]:
    to_serve = f"to let it serve: quartermaster snapshots {store.label} --use {manifest.snapshot}"
    if manifest.held and manifest.snapshot not in store.state().accepted:
        return (*manifest.held, to_serve)
    current = find_current(store.snapshots())
    if current is not None and (manifest.sequence, manifest.snapshot) < current.order:
        older = f"{current.name} serves, which has the number {current.order[0]}, and this one {manifest.sequence}"
        return older, to_serve
    return ()
