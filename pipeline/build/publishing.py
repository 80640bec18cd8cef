"""The store of a build, and its last stages: a snapshot serves, its readings count as good, and what is old goes."""

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb

from pipeline import memo
from pipeline.build_state import SERVING_AREA, BuildContext, BuildState
from pipeline.encoders.export import UNUSED_DAYS, cache_folder, remove_unused
from pipeline.errors import SettingsInvalid, SnapshotInvalid
from pipeline.progress import Progress
from pipeline.settings import CatalogSettings
from pipeline.store import SharedStore, SnapshotStore, WritableStore, disk_size, publication, signing_keys
from pipeline.store.bucket.store import BucketStore
from pipeline.store.private_keys import read_signer
from router.errors import EncoderInvalid
from router.signing.ed25519 import Signer

_DAY_S = 86_400.0
_logger = logging.getLogger(__name__)


def store_of(settings: CatalogSettings, workspace: Path, area: str, progress: Progress) -> WritableStore:
    """Return the store of a catalog. An experiment in another area never leaves the workspace.

    Raises SettingsInvalid where the bucket cannot be used as the settings say.
    """
    folder = SnapshotStore(workspace, settings.name, area)
    to = settings.publish.to
    if to is None or area != SERVING_AREA:
        return folder
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


def signer_of(settings: CatalogSettings) -> Signer | None:
    """Return who signs the snapshots of a catalog; None where nobody does. Raises SettingsInvalid."""
    key = settings.publish.sign_key
    return read_signer(key, settings.folder) if key is not None else None


def publish(context: BuildContext, state: BuildState) -> None:
    """Let a snapshot serve unless it is held, or an operator has decided against it since it was begun."""
    context.clock.start("publish", None)
    if state.held:
        return
    name = state.snapshot.name
    if decided := context.execution.run("publish", publication.publish_build, context.store, name):
        state.outcome, state.held = "held", decided
        return
    if context.signer is not None:
        publication.sign_published(context.store, name, context.signer)
    _logger.info("%s serves", name, extra={"event": "published", "snapshot": name})


def note_missing_signature(context: BuildContext, state: BuildState) -> None:
    """Say where the snapshot that goes on serving has no signature of the catalog's key."""
    signer, name = context.signer, context.settings.name
    if signer is None or state.outcome != "unchanged" or signer.public.key_id in signing_keys(state.snapshot):
        return
    context.clock.note(
        f"{state.snapshot.name} serves without a signature of the key {signer.public.key_id}: to sign it: "
        f"quartermaster snapshots {name} --sign --sign-key FILE"
    )


def accept_readings(context: BuildContext, state: BuildState) -> None:
    """Count what the sources gave as good, if its snapshot serves."""
    if state.outcome == "held":
        return
    try:
        context.last_readings.accept(state.snapshot.name, state.reading.keys)
    except duckdb.Error as error:
        # The snapshot serves, so the build has not failed; the next build counts the readings of what serves.
        context.clock.note(f"the ledger does not know yet that the snapshot serves: {' '.join(str(error).split())}")


def tidy_up(context: BuildContext, state: BuildState) -> None:
    """Remove old snapshots, make the others smaller, and remove caches that nothing uses.

    The new snapshot serves: what could not be tidied up is noted, and does not fail the build.
    """
    store, note = context.store, context.clock.note
    try:
        size = stored_bytes(store)
        state.removed = tuple(store.retain(context.settings.publish.keep))
        if (folder := _on_this_disk(store)) is not None:
            for problem in folder.save_space():
                note(problem)
        state.freed_bytes = size - stored_bytes(store)
    except (OSError, SnapshotInvalid) as error:
        note(f"old snapshots could not be removed: {error}")
    try:
        remove_unused_caches(context.workspace, context.clock)
    except OSError as error:
        note(f"caches that nothing uses could not be removed: {error}")


def stored_bytes(store: WritableStore) -> int:
    """Return the bytes on this disk of a catalog's snapshots, each file once; 0 for a store elsewhere."""
    if (folder := _on_this_disk(store)) is None:
        return 0
    size = disk_size(folder.folder)
    return size.own + size.shared


def _on_this_disk(store: WritableStore) -> SnapshotStore | None:
    """Return a store in a folder, or the cache of one in a bucket; None for any other."""
    if isinstance(store, BucketStore):
        return store.cache
    return store if isinstance(store, SnapshotStore) else None


def remove_unused_caches(workspace: Path, progress: Progress) -> None:
    """Remove exported encoders, and what is kept for catalogs without a snapshot, that nothing used for 30 days."""
    folders = [workspace / "encoders"]
    with suppress(EncoderInvalid):  # reported where an encoder is looked for
        folders.append(cache_folder())
    removed = [("exported encoders", remove_unused(folder)) for folder in folders]
    removed.append(("cached checks", list(_unused_checks(workspace))))
    for what, names in removed:
        if names:
            progress.note(f"{what} that nothing used for {UNUSED_DAYS} days were removed: {', '.join(names)}")


def _unused_checks(workspace: Path) -> Iterator[str]:
    """Remove the comparisons and results of catalogs without a snapshot, and yield their names."""
    used = {folder.name for folder in workspace.glob("*/*/")}
    for file in sorted([*workspace.glob("compared/*"), *workspace.glob(f"{memo.FOLDER}/*")]):
        with suppress(OSError):  # a cache that cannot be removed may stay
            is_used = file.name.removeprefix(".").removesuffix(".npz").removesuffix(".db") in used
            if not is_used and time.time() - file.stat().st_mtime > UNUSED_DAYS * _DAY_S:
                file.unlink()
                yield f"{file.parent.name}/{file.name}"
