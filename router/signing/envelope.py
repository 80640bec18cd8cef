"""The file of a signature: a DSSE envelope (Dead Simple Signing Envelope, version 1) in JSON.

The signature covers the payload's type and bytes as they stand, so nothing is parsed before it is checked.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from router.contract import Manifest
from router.signing.ed25519 import SIGNATURE_BYTES, Signer

MOST_BYTES = 65_536
_MOST_SIGNATURES = 32


class Signature(msgspec.Struct, frozen=True):
    """A signature of 64 bytes, with the id of its key."""

    keyid: Annotated[str, Meta(max_length=128)]
    sig: Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]


class Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """A payload with its signatures."""

    payload: bytes
    payload_type: Annotated[str, Meta(max_length=256)]
    signatures: Annotated[tuple[Signature, ...], Meta(max_length=_MOST_SIGNATURES)] = ()

    @property
    def message(self) -> bytes:
        """Return the bytes that are signed: DSSE's pre-authentication encoding of the type and the payload."""
        kind = self.payload_type.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def signed_by(self, signer: Signer) -> "Envelope":
        """Return the envelope with a signature of this signer, in the place of an older one of the same key."""
        own = Signature(signer.public.key_id, signer.sign(self.message))
        others = (signature for signature in self.signatures if signature.keyid != own.keyid)
        return Envelope(self.payload, self.payload_type, (*others, own))

    def to_json(self) -> str:
        """Return the envelope as a JSON text."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Envelope":
        """Return the envelope in a JSON text. Raises ValueError where it is none, or larger than 64 KB."""
        if len(data) > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
        try:
            return msgspec.json.decode(data, type=cls)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not an envelope: {error}") from error


PAYLOAD_TYPE = "application/vnd.quartermaster.snapshot.v1+json"
_Text = Annotated[str, Meta(max_length=255)]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about a manifest, by the sha256 of its bytes.

    `counter` orders the statements of a catalog: the manifest's `sequence`, or a later number where an operator goes
    back to an older snapshot. `at` is the snapshot's time, or that of the decision, UTC, ISO 8601.
    """

    catalog: _Text
    snapshot: _Text
    manifest_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    counter: Annotated[int, Meta(ge=0, le=2**53)]
    at: _Text

    @classmethod
    def of(cls, data: bytes, manifest: Manifest) -> "Statement":
        """Return the statement about a manifest and its bytes; the same bytes always give the same statement."""
        return cls(
            manifest.catalog,
            manifest.snapshot,
            hashlib.sha256(data).hexdigest(),
            manifest.sequence,
            manifest.created_at,
        )

    def envelope(self) -> Envelope:
        """Return the statement in an envelope without signatures."""
        return Envelope(json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode(), PAYLOAD_TYPE)

    @classmethod
    def from_payload(cls, envelope: Envelope) -> "Statement":
        """Return the statement of an envelope whose signature was checked. Raises ValueError where it is none."""
        if envelope.payload_type != PAYLOAD_TYPE:
            raise ValueError(f"it signs {envelope.payload_type!r:.100}, not {PAYLOAD_TYPE!r}")
        try:
            return msgspec.json.decode(envelope.payload, type=cls)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it signs no statement about a snapshot: {error}") from error
