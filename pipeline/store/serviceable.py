"""Which snapshots may serve, and which one a rollback goes to."""

from datetime import UTC, datetime

from router.errors import SnapshotInvalid
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.protocol import ReadableStore, Stored
from router.snapshot.store.state import StoreState


def rollback_target(store: ReadableStore, stored: list[Stored], state: StoreState) -> Stored | None:
    """Return the newest snapshot before the current one that opens and may serve; None where there is none.

    A held snapshot may not, unless an operator published it before, nor one whose content was rolled back from, nor
    another with the content of the current one, unless that is damaged. Where the number of the current one is lost,
    with its manifest or its folder, every other snapshot counts as one before it.
    """
    current = find_current(stored)
    if current:
        state = after_leaving(store, current, state)
    for candidate in stored:
        if _is_before(candidate, current) and may_serve(candidate, state) and _opens(store, candidate):
            return candidate
    return None


def may_serve(stored: Stored, state: StoreState) -> bool:
    """Return True unless the snapshot is held or was rolled back from."""
    return not is_held(stored, state) and not is_rolled_back(stored, state)


def is_held(stored: Stored, state: StoreState) -> bool:
    """Return True where a gate held a snapshot, or another build overtook it, and no operator has published it."""
    is_held_back = stored.held or (not stored.current and stored.name in state.overtaken)
    return is_held_back and stored.name not in state.accepted


def is_rolled_back(stored: Stored, state: StoreState) -> bool:
    """Return True where the content of a snapshot was rolled back from, and it does not serve."""
    manifest = stored.manifest
    if stored.current or manifest is None:
        return False
    return state.rollback_of(manifest.content_hash, manifest.inputs_hash) is not None


def find_current(stored: list[Stored]) -> Stored | None:
    """Return the snapshot that serves; None where none of them does."""
    return next((snapshot for snapshot in stored if snapshot.current), None)


def after_leaving(store: ReadableStore, current: Stored, state: StoreState) -> StoreState:
    """Return the state after a rollback. The content of a damaged snapshot is not at fault: it may be built again."""
    return state.leaving(current.manifest, now()) if current.manifest and _opens(store, current) else state


def now() -> str:
    """Return the time of a decision: UTC, ISO 8601, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_before(candidate: Stored, current: Stored | None) -> bool:
    if current is None:
        return True
    is_unknown = current.manifest is None and not current.sequence
    return not candidate.current if is_unknown else candidate.order < current.order


def _opens(store: ReadableStore, stored: Stored) -> bool:
    try:
        Snapshot.open(store.local_folder(stored.name))
    except (OSError, ValueError, SnapshotInvalid):
        return False
    return True


def removable(store: ReadableStore, state: StoreState, keep: int) -> list[str]:
    """Return the names of the snapshots that a store need not keep, sorted.

    It keeps the current one, the pinned one, the one that a rollback would go to, and the newest `keep` that may serve.
    Of those that were held back, and of those rolled back from, it keeps the newest: a catalog that is held back every
    night must not push out what can be rolled back to.
    """
    stored = store.snapshots()
    held = [snapshot.name for snapshot in stored if is_held(snapshot, state)]
    left = [snapshot.name for snapshot in stored if is_rolled_back(snapshot, state) and snapshot.name not in held]
    serviceable = [snapshot.name for snapshot in stored if may_serve(snapshot, state)]
    current = find_current(stored)
    kept = {*serviceable[:keep], *held[:1], *left[:1], current and current.name, state.pin and state.pin.snapshot}
    doomed = [snapshot for snapshot in stored if snapshot.name not in kept]
    # To find the target, snapshots are opened: not where all that would go are newer.
    if current and any(snapshot.order < current.order for snapshot in doomed):
        target = rollback_target(store, stored, state)
        doomed = [snapshot for snapshot in doomed if target is None or snapshot.name != target.name]
    return sorted(snapshot.name for snapshot in doomed)
