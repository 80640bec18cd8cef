"""What an operator decides for a catalog: which snapshot serves, and what builds may publish.

Each decision is stored before CURRENT moves. A process that is killed between the two leaves what served serving; the
operator repeats the command. A store elsewhere writes both at once; where another writer was first, the decision is
made again from what is there then.
"""

from dataclasses import replace

from router.errors import SettingsInvalid, SnapshotInvalid
from router.signing.ed25519 import Signer
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.conflicts import retried
from router.snapshot.store.protocol import (
    DecisionStore,
    PointerStore,
    ReadableStore,
    SharedStore,
    Stored,
    WritableStore,
)
from router.snapshot.store.serviceable import after_leaving, find_current, now, rollback_target
from router.snapshot.store.signing import (
    UNSIGNED,
    Signing,
    last_number,
    require_signing,
    sign_stored,
    signature_needed,
)
from router.snapshot.store.state import Pin, StoreState


def state_of(store: ReadableStore) -> StoreState:
    """Return what a store remembers; nothing where it is no `DecisionStore`."""
    return store.state() if isinstance(store, DecisionStore) else StoreState()


def next_sequence(store: WritableStore) -> int:
    """Return the number of a new snapshot, larger than that of every one before it."""
    if isinstance(store, DecisionStore):
        return store.take_sequence()
    return 1 + max((stored.order[0] for stored in store.snapshots()), default=0)


def reasons_against(store: ReadableStore, catalog: str, content_hash: str, inputs_hash: str) -> tuple[str, ...]:
    """Return why an operator's decisions keep a build from publishing some content; empty for what serves already."""
    state = state_of(store)
    if not state.pin and not state.rolled_back:
        return ()
    current = find_current(store.snapshots())
    if current and current.manifest and current.manifest.content_hash == content_hash:
        return ()
    state = _in_effect(state, current)
    reasons = []
    command = f"quartermaster snapshots {catalog}"
    if state.pin:
        reasons.append(f"{state.pin.snapshot} is pinned since {state.pin.at}; to end that: {command} --unpin")
    if left := state.rollback_of(content_hash, inputs_hash):
        reasons.append(
            f"its content is that of {left.snapshot}, which was rolled back from at {left.at}; "
            f"to let builds publish it again: {command} --release {left.snapshot}"
        )
    return tuple(reasons)


@retried
def publish_build(store: WritableStore, name: str) -> tuple[str, ...]:
    """Publish what a build wrote, unless it was decided otherwise since; return the reasons against it.

    An operator may have pinned or rolled back. In a `SharedStore` another build may have published: what this one
    was compared with serves no more.
    """
    if not isinstance(store, DecisionStore):
        store.publish(name)
        return ()
    with store.locked():
        stored = store.snapshots()
        manifest = _find(store, stored, name).manifest
        if manifest and (
            reasons := reasons_against(store, manifest.catalog, manifest.content_hash, manifest.inputs_hash)
        ):
            return reasons
        if reasons := _published_meanwhile(store, name):
            return reasons
        state = store.state()
        if (in_effect := _in_effect(state, find_current(stored))) != state:
            store.write_state(in_effect)
        store.publish(name)
    return ()


@retried
def sign_published(store: WritableStore, name: str, signer: Signer) -> None:
    """Sign a pointer to what a build has published, where a later number was given meanwhile, by a rollback."""
    if not isinstance(store, PointerStore):
        return
    with store.locked():
        stored, state = store.snapshots(), store.state()
        target, last = _find(store, stored, name), last_number(state, stored)
        if target.current and target.order[0] < last:
            store.write_state(replace(state, sequence=last + 1))
            sign_stored(store, target, signer, last + 1)


@retried
def use(store: DecisionStore, name: str, signing: Signing = UNSIGNED) -> None:
    """Serve a snapshot, verified whole. An older one than the current counts as a rollback.

    A pin moves with it. Raises SnapshotInvalid where there is none of that name, or it is damaged, and SettingsInvalid
    where routers would refuse it without a signature.
    """
    Snapshot.open(store.local_folder(name), whole=True)
    with store.locked():
        _serve(store, _find(store, store.snapshots(), name), store.state(), signing)


def rollback(store: DecisionStore, signing: Signing = UNSIGNED) -> str:
    """Serve the snapshot that `rollback_target` finds and return its name; builds do not publish the one left.

    A pin moves with it. Raises SettingsInvalid where there is nothing to roll back to, and as `use` does.
    """
    return _rollback_from(store, store.current(), signing)


@retried
def _rollback_from(store: DecisionStore, current: str | None, signing: Signing) -> str:
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


def pin(store: DecisionStore, name: str | None, signing: Signing = UNSIGNED) -> str:
    """Serve a snapshot, by default the current one, until `unpin`; return its name. Raises as `use` does."""
    name = name or store.current()
    if name is None:
        raise SettingsInvalid(f"{store.label} serves no snapshot: name the one to pin")
    _pin(store, name, signing)
    return name


@retried
def _pin(store: DecisionStore, name: str, signing: Signing) -> None:
    Snapshot.open(store.local_folder(name), whole=True)
    with store.locked():
        stored = _find(store, store.snapshots(), name)
        state = replace(store.state(), pin=Pin(name, now()))
        if stored.current:
            store.write_state(state)
        else:
            _serve(store, stored, state, signing)


@retried
def unpin(store: DecisionStore) -> str:
    """Let builds publish again and return the snapshot that was pinned. Raises SettingsInvalid where none was."""
    with store.locked():
        state = store.state()
        if state.pin is None:
            raise SettingsInvalid(f"{store.label} has no pinned snapshot")
        store.write_state(replace(state, pin=None))
        return state.pin.snapshot


@retried
def release(store: DecisionStore, name: str) -> None:
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


def _published_meanwhile(store: ReadableStore, name: str) -> tuple[str, ...]:
    """Return why a build must not publish over what another one has published since it began."""
    if not isinstance(store, SharedStore):
        return ()
    current = store.current()
    if current in (store.base, name):
        return ()
    before = store.base or "nothing"
    return (
        f"{current or 'nothing'} serves since this build began, and it was compared with {before}: build again, so "
        f"that its gates compare it with what serves; {name} is stored and does not serve",
    )


def _serve(store: DecisionStore, target: Stored, state: StoreState, signing: Signing) -> None:
    """Make a snapshot current and remember what that says of it and of the one that it replaces."""
    stored = store.snapshots()
    current = find_current(stored)
    last = last_number(state, stored)
    needed = signature_needed(store, target, last, current)
    if needed:
        require_signing(store, target, signing)
    if target.manifest:
        state = state.releasing(target.manifest)
    if current and target.order < current.order and not _same_content(current, target):
        state = after_leaving(store, current, state)
    if target.held and target.name not in state.accepted:
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


def _in_effect(state: StoreState, current: Stored | None) -> StoreState:
    """Return the state without a rollback from what serves, which was interrupted before it took effect."""
    served = current.manifest.content_hash if current and current.manifest else ""
    return replace(state, rolled_back=tuple(left for left in state.rolled_back if left.content_hash != served))


def _same_content(one: Stored, other: Stored) -> bool:
    return bool(one.manifest and other.manifest and one.manifest.content_hash == other.manifest.content_hash)


def _find(store: ReadableStore, stored: list[Stored], name: str) -> Stored:
    for snapshot in stored:
        if snapshot.name == name:
            return snapshot
    raise SnapshotInvalid(f"{store.label} has no snapshot {name!r}")
