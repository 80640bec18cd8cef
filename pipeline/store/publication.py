"""What a build does with a store: publish, unless it was decided otherwise meanwhile, and sign what is published."""

from dataclasses import replace

from pipeline.store.protocol import PointerStore, SharedStore, WritableStore, retried
from pipeline.store.serviceable import find_current
from pipeline.store.signing import last_number, sign_stored
from router.errors import SnapshotInvalid
from router.signing.ed25519 import Signer
from router.snapshot.store.protocol import ReadableStore, Stored
from router.snapshot.store.state import StoreState


def reasons_against(store: WritableStore, catalog: str, content_hash: str, inputs_hash: str) -> tuple[str, ...]:
    """Return why an operator's decisions keep a build from publishing some content; empty for what serves already."""
    state = store.state()
    if not state.pin and not state.rolled_back:
        return ()
    current = find_current(store.snapshots())
    if current and current.manifest and current.manifest.content_hash == content_hash:
        return ()
    state = in_effect(state, current)
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
    was compared with serves no more, unless what serves has the same content.
    """
    with store.locked():
        stored = store.snapshots()
        built, current, state = find_stored(store, stored, name), find_current(stored), store.state()
        manifest = built.manifest
        if manifest and (
            reasons := reasons_against(store, manifest.catalog, manifest.content_hash, manifest.inputs_hash)
        ):
            return reasons
        if not has_same_content(current, built) and (reasons := _published_meanwhile(store, name)):
            others = (other.name for other in stored if other.name in state.overtaken and other.name != name)
            store.write_state(replace(state, overtaken=(*others, name)))
            return reasons
        if (effective := in_effect(state, current)) != state:
            store.write_state(effective)
        store.publish(name)
    return ()


@retried
def sign_published(store: WritableStore, name: str, signer: Signer) -> None:
    """Sign a pointer to what a build has published, where a later number was given meanwhile, by a rollback."""
    if not isinstance(store, PointerStore):
        return
    with store.locked():
        stored, state = store.snapshots(), store.state()
        target, last = find_stored(store, stored, name), last_number(state, stored)
        if target.current and target.order[0] < last:
            store.write_state(replace(state, sequence=last + 1))
            sign_stored(store, target, signer, last + 1)


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


def in_effect(state: StoreState, current: Stored | None) -> StoreState:
    """Return the state without a rollback from what serves, which was interrupted before it took effect."""
    served = current.manifest.content_hash if current and current.manifest else ""
    return replace(state, rolled_back=tuple(left for left in state.rolled_back if left.content_hash != served))


def has_same_content(one: Stored | None, other: Stored) -> bool:
    """Return True where two snapshots hold the same; False where one is missing, or cannot be read."""
    return bool(one and one.manifest and other.manifest and one.manifest.content_hash == other.manifest.content_hash)


def find_stored(store: ReadableStore, stored: list[Stored], name: str) -> Stored:
    """Return a snapshot of a store by its name. Raises SnapshotInvalid where there is none."""
    for snapshot in stored:
        if snapshot.name == name:
            return snapshot
    raise SnapshotInvalid(f"{store.label} has no snapshot {name!r}")
