"""Which snapshots of a store may be removed."""

from pipeline.store.serviceable import find_current, is_held, is_rolled_back, may_serve, rollback_target
from router.snapshot.store.protocol import ReadableStore
from router.snapshot.store.state import StoreState


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
