"""Signs stored snapshots: the statement in a snapshot's folder, and the one that lets an older snapshot serve again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pipeline.store.deltas.databases import open_whole
from pipeline.store.protocol import PointerStore, SignatureStore, WritableStore
from router.contract import SIGNATURE, Manifest, read_manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.files import read_in
from router.signing.ed25519 import Signer
from router.signing.envelope import MOST_BYTES, Envelope, Statement
from router.snapshot.store.durable import replace_text
from router.snapshot.store.protocol import ReadableStore, Stored
from router.snapshot.store.state import StoreState


@dataclass(frozen=True, slots=True)
class Signing:
    """How a decision is signed: by `signer`; without one only where `optional`, and routers may refuse the result."""

    signer: Signer | None = None
    optional: bool = False


UNSIGNED = Signing()


def sign_manifest(folder: Path, signer: Signer) -> Statement:
    """Sign the manifest in a folder as it stands, beside the signatures of other keys, and return what was signed.

    Raises SnapshotInvalid where there is no manifest, and OSError where the signature cannot be written.
    """
    return _sign(folder, *read_manifest(folder), signer)


def sign_snapshot(folder: Path, signer: Signer) -> Statement:
    """Verify a snapshot whole, and sign the manifest that was verified. Raises as `sign_manifest` does."""
    verified: list[tuple[bytes, Manifest]] = []
    open_whole(folder, inspect=lambda _, data, manifest: verified.append((data, manifest)))
    return _sign(folder, *verified[0], signer)


def sign_in(store: WritableStore, name: str, signer: Signer) -> None:
    """Verify a stored snapshot whole, and sign it. Raises as `sign_snapshot` does."""
    with store.locked():
        sign_snapshot(store.local_folder(name), signer)
        _store_signature(store, name)


def signing_keys(folder: Path) -> tuple[str, ...]:
    """Return the ids of the keys in a snapshot's signature, unchecked; none where it cannot be read."""
    return _key_ids(_envelope(folder))


def signing_keys_in(store: ReadableStore, name: str) -> tuple[str, ...]:
    """Return the ids of the keys that signed a stored snapshot, as `signing_keys` does."""
    if not isinstance(store, SignatureStore):
        return signing_keys(store.local_folder(name))
    try:
        return _key_ids(Envelope.from_json(store.signature(name) or b""))
    except ValueError:
        return ()


def signature_needed(store: ReadableStore, target: Stored, last: int, current: Stored | None) -> bool:
    """Return whether routers that check signatures would refuse a snapshot as it is stored.

    So it is in a store of signed snapshots, where it is not signed, or its number is not the `last` that was given.
    """
    signed = _is_signed(store, target)
    return (signed or (current is not None and _is_signed(store, current))) and (not signed or target.order[0] < last)


def last_number(state: StoreState, stored: Iterable[Stored]) -> int:
    """Return the last number that a store gave, to a snapshot or to a signed pointer."""
    return max(state.sequence, *(snapshot.order[0] for snapshot in stored), 0)


def require_signing(store: ReadableStore, target: Stored, signing: Signing) -> None:
    """Raise SettingsInvalid where a decision needs a signature, and there is neither a key nor leave to go without."""
    if signing.signer is None and not signing.optional:
        raise SettingsInvalid(
            f"routers that check signatures would refuse {target.name}, because it is older than what served or not "
            "signed: give --sign-key FILE, or --unsigned where no router checks them"
        )
    if signing.signer is not None and not isinstance(store, PointerStore):
        raise SettingsInvalid(f"{store.label} cannot keep a signed pointer: it has no write_signed_pointer")


def sign_stored(store: WritableStore, target: Stored, signer: Signer, counter: int | None) -> None:
    """Sign a stored snapshot. With `counter`, also write the pointer that makes it the newest of its catalog."""
    folder = store.local_folder(target.name)
    statement = sign_manifest(folder, signer)
    _store_signature(store, target.name)
    if counter is not None and isinstance(store, PointerStore):
        at = datetime.now(UTC).isoformat(timespec="seconds")
        store.write_signed_pointer(replace(statement, counter=counter, at=at).envelope().signed_by(signer).to_json())


def _sign(folder: Path, data: bytes, manifest: Manifest, signer: Signer) -> Statement:
    statement = Statement.of(data, manifest)
    envelope, before = statement.envelope(), _envelope(folder)
    # Only signatures of the very same statement stay: what else lies there is not signed on trust.
    if before is not None and before.message == envelope.message:
        envelope = before
    replace_text(folder / SIGNATURE, envelope.signed_by(signer).to_json())
    return statement


def _envelope(folder: Path) -> Envelope | None:
    try:
        return Envelope.from_json(read_in(folder, SIGNATURE, MOST_BYTES)[0])
    except (OSError, ValueError):  # missing, or no envelope: it is written anew
        return None


def _key_ids(envelope: Envelope | None) -> tuple[str, ...]:
    return tuple(signature.keyid for signature in envelope.signatures) if envelope else ()


def _store_signature(store: ReadableStore, name: str) -> None:
    """Send the signature in a snapshot's local folder to a store that is elsewhere."""
    if isinstance(store, SignatureStore):
        store.store_signature(name)


def _is_signed(store: ReadableStore, stored: Stored) -> bool:
    try:
        return bool(signing_keys_in(store, stored.name))
    except (OSError, SnapshotInvalid):
        return False
