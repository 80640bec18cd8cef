"""What an operator decides for a catalog: which snapshot serves, and what builds may publish. Builds: `publication`.

Each decision is stored before CURRENT moves. A process that is killed between the two leaves what served serving; the
operator repeats the command. A store elsewhere writes both at once; where another writer was first, the decision is
made again from what is there then.
"""

from dataclasses import replace

from pipeline.store.deltas.databases import open_whole
from pipeline.store.protocol import WritableStore, retried
from pipeline.store.publication import find_stored, has_same_content
from pipeline.store.serviceable import after_leaving, find_current, is_held, now, rollback_target
from pipeline.store.signing import UNSIGNED, Signing, last_number, require_signing, sign_stored, signature_needed
from router.errors import SettingsInvalid
from router.snapshot.store.protocol import Stored
from router.snapshot.store.state import Pin, StoreState


@retried
def use(store: WritableStore, name: str, signing: Signing = UNSIGNED) -> None:
    """Serve a snapshot, verified whole. An older one than the current counts as a rollback.

    A pin moves with it. Raises SnapshotInvalid where there is none of that name, or it is damaged, and SettingsInvalid
    where routers would refuse it without a signature.
    """
    open_whole(store.local_folder(name))
    with store.locked():
        _serve(store, find_stored(store, store.snapshots(), name), store.state(), signing)


def rollback(store: WritableStore, signing: Signing = UNSIGNED) -> str:
    """Serve the snapshot that `rollback_target` finds and return its name; builds do not publish the one left.

    A pin moves with it. Raises SettingsInvalid where there is nothing to roll back to, and as `use` does.
    """
    return _rollback_from(store, store.current(), signing)


@retried
def _rollback_from(store: WritableStore, current: str | None, signing: Signing) -> str:
    """Roll back from the snapshot that the operator means, and from no other that was published meanwhile."""
    with store.locked():
        if current is None:
            raise SettingsInvalid(f"{store.label} serves no snapshot: there is nothing to roll back from")
        if (now_current := store.current()) != current:
            raise SettingsInvalid(
                f"{now_current} was published meanwhile: nothing was changed; repeat the command to roll back from it"
            )
        stored, state = store.snapshots(), store.state()
        target = rollback_target(store, stored, state)
        if target is None:
            raise SettingsInvalid(
                f"{store.label} has no snapshot before {current} that opens: there is nothing to roll back to"
            )
        _serve(store, target, state, signing)
        return target.name


def pin(store: WritableStore, name: str | None, signing: Signing = UNSIGNED) -> str:
    """Serve a snapshot, by default the current one, until `unpin`; return its name. Raises as `use` does."""
    name = name or store.current()
    if name is None:
        raise SettingsInvalid(f"{store.label} serves no snapshot: name the one to pin")
    _pin(store, name, signing)
    return name


@retried
def _pin(store: WritableStore, name: str, signing: Signing) -> None:
    open_whole(store.local_folder(name))
    with store.locked():
        stored = find_stored(store, store.snapshots(), name)
        state = replace(store.state(), pin=Pin(name, now()))
        if stored.current:
            store.write_state(state)
        else:
            _serve(store, stored, state, signing)


@retried
def unpin(store: WritableStore) -> str:
    """Let builds publish again and return the snapshot that was pinned. Raises SettingsInvalid where none was."""
    with store.locked():
        state = store.state()
        if state.pin is None:
            raise SettingsInvalid(f"{store.label} has no pinned snapshot")
        store.write_state(replace(state, pin=None))
        return state.pin.snapshot


@retried
def release(store: WritableStore, name: str) -> None:
    """Let builds publish content again that was rolled back from. Raises SettingsInvalid where it was not.

    `name` is a snapshot with that content, or the one that was left, which may be removed by now.
    """
    with store.locked():
        before = after = store.state()
        after = replace(after, rolled_back=tuple(left for left in after.rolled_back if left.snapshot != name))
        for stored in store.snapshots():
            if stored.name == name and stored.manifest:
                after = after.releasing(stored.manifest)
        if after == before:
            left = ", ".join(left.snapshot for left in before.rolled_back) or "none"
            raise SettingsInvalid(f"{name!r} was not rolled back from; rolled back from: {left}")
        store.write_state(after)


def _serve(store: WritableStore, target: Stored, state: StoreState, signing: Signing) -> None:
    """Make a snapshot current and remember what that says of it and of the one that it replaces."""
    stored = store.snapshots()
    current = find_current(stored)
    last = last_number(state, stored)
    needed = signature_needed(store, target, last, current)
    if needed:
        require_signing(store, target, signing)
    if target.manifest:
        state = state.releasing(target.manifest)
    if current and target.order < current.order and not has_same_content(current, target):
        state = after_leaving(store, current, state)
    if is_held(target, state):
        state = replace(state, accepted=(*state.accepted, target.name))
    if state.pin and state.pin.snapshot != target.name:
        state = replace(state, pin=Pin(target.name, now()))
    signer = signing.signer if needed else None
    counter = last + 1 if signer and target.order[0] < last else None
    if counter is not None:
        state = replace(state, sequence=counter)
    if state != store.state():
        store.write_state(state)
    if signer is not None:  # before CURRENT moves: no reader finds the snapshot without its signature
        sign_stored(store, target, signer, counter)
    store.publish(target.name)
