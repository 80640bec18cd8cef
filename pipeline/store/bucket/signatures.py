"""The signatures of a snapshot in a bucket: each key's once, whoever signs when."""

from contextlib import suppress

from pipeline.store.conflicts import retried
from router.signing.envelope import MOST_BYTES, Envelope
from router.snapshot.store.bucket.layout import signature_object
from router.snapshot.store.bucket.objects import Objects


@retried
def add_signatures(objects: Objects, snapshot: str, data: bytes) -> None:
    """Store signatures of a snapshot beside those that the bucket has of the same statement, and replace any others.

    Raises StoreUnavailable, and ValueError where `data` holds no signatures.
    """
    name = signature_object(snapshot)
    stored, version = None, None
    with suppress(FileNotFoundError):
        stored, version = objects.read(name, MOST_BYTES)
    merged = _merged(stored, data)
    if merged != stored:
        objects.replace(name, merged, version)


def _merged(stored: bytes | None, data: bytes) -> bytes:
    new = Envelope.from_json(data)
    try:
        old = Envelope.from_json(stored or b"")
    except ValueError:  # none, or damaged
        return data
    if old.message != new.message:  # of another manifest: not signed on trust
        return data
    keys = {key for key, _ in new.signatures}
    others = tuple(signature for signature in old.signatures if signature[0] not in keys)
    if not others:
        return data if dict(old.signatures) != dict(new.signatures) else stored or data
    return Envelope(new.payload_type, new.payload, (*others, *new.signatures)).to_json().encode()
