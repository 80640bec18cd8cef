"""The last stages of a build: a snapshot serves, its readings count as good, and what is old goes."""

import logging
from dataclasses import replace

import duckdb

from pipeline.build.context import BuildContext
from pipeline.build.disk_space import remove_unused_caches, save_space, stored_bytes
from pipeline.build.state import CatalogRead, SnapshotOutcome
from pipeline.errors import SnapshotInvalid
from pipeline.settings import CatalogSettings
from pipeline.store import decisions, signing_keys
from pipeline.store.private_keys import read_signer
from router.signing.ed25519 import Signer

_logger = logging.getLogger(__name__)


def publish(context: BuildContext, written: SnapshotOutcome) -> SnapshotOutcome:
    """Let a snapshot serve unless it is held, or an operator has decided against it since it was begun."""
    context.clock.start("publish", None)
    if written.held:
        return written
    name = written.folder.name
    if decided := context.execution.run("publish", decisions.publish_build, context.store, name):
        return replace(written, outcome="held", held=decided)
    if context.signer is not None:
        decisions.sign_published(context.store, name, context.signer)
    _logger.info("%s serves", name, extra={"event": "published", "snapshot": name})
    return written


def signer_of(settings: CatalogSettings) -> Signer | None:
    """Return who signs the snapshots of a catalog; None where nobody does. Raises SettingsInvalid."""
    key = settings.publish.sign_key
    return read_signer(key, settings.folder) if key is not None else None


def note_missing_signature(context: BuildContext, unchanged: SnapshotOutcome) -> None:
    """Say where the snapshot that goes on serving has no signature of the catalog's key."""
    signer, name = context.signer, context.settings.name
    if signer is None or unchanged.outcome != "unchanged" or signer.public.key_id in signing_keys(unchanged.folder):
        return
    context.clock.note(
        f"{unchanged.folder.name} serves without a signature of the key {signer.public.key_id}: to sign it: "
        f"quartermaster snapshots {name} --sign --sign-key FILE"
    )


def accept_readings(context: BuildContext, read: CatalogRead, outcome: SnapshotOutcome) -> None:
    """Count what the sources gave as good, if its snapshot serves."""
    if outcome.outcome == "held":
        return
    try:
        context.last_readings.accept(outcome.folder.name, read.reading.keys)
    except duckdb.Error as error:
        # The snapshot serves, so the build has not failed; the next build counts the readings of what serves.
        context.clock.note(f"the ledger does not know yet that the snapshot serves: {' '.join(str(error).split())}")


def tidy_up(context: BuildContext, outcome: SnapshotOutcome) -> SnapshotOutcome:
    """Remove old snapshots, make the others smaller, and remove caches that nothing uses.

    The new snapshot serves: what could not be tidied up is noted, and is no failure of the build.
    """
    store, note = context.store, context.clock.note
    removed: tuple[str, ...] = ()
    freed = 0
    try:
        size = stored_bytes(store)
        removed = tuple(store.retain(context.settings.publish.keep))
        save_space(store, note)
        freed = size - stored_bytes(store)
    except (OSError, SnapshotInvalid) as error:
        note(f"old snapshots could not be removed: {error}")
    try:
        remove_unused_caches(context.workspace, context.clock)
    except OSError as error:
        note(f"caches that nothing uses could not be removed: {error}")
    return replace(outcome, removed=removed, freed_bytes=freed)
