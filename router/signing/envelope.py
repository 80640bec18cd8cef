"""The file of a signature: a DSSE envelope (Dead Simple Signing Envelope, version 1) in JSON.

The signature covers the payload's type and bytes as they stand, so nothing is parsed before it is checked.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from router.signing.ed25519 import SIGNATURE_BYTES, Signer

MOST_BYTES = 65_536
_MOST_SIGNATURES = 32


class _RawSignature(msgspec.Struct):
    keyid: Annotated[str, Meta(max_length=128)]
    sig: Annotated[str, Meta(max_length=256)]


class _RawEnvelope(msgspec.Struct, rename="camel"):
    payload: str
    payload_type: Annotated[str, Meta(max_length=256)]
    signatures: Annotated[list[_RawSignature], Meta(max_length=_MOST_SIGNATURES)]


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload with its signatures, each with the id of its key."""

    payload_type: str
    payload: bytes
    signatures: tuple[tuple[str, bytes], ...] = ()

    @property
    def message(self) -> bytes:
        """Return the bytes that are signed: DSSE's pre-authentication encoding of the type and the payload."""
        kind = self.payload_type.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def signed_by(self, signer: Signer) -> "Envelope":
        """Return the envelope with a signature of this signer, in the place of an older one of the same key."""
        key_id = signer.public.key_id
        others = tuple(signature for signature in self.signatures if signature[0] != key_id)
        return Envelope(self.payload_type, self.payload, (*others, (key_id, signer.sign(self.message))))

    def to_json(self) -> str:
        """Return the envelope as a JSON text."""
        row = {
            "payload": base64.b64encode(self.payload).decode(),
            "payloadType": self.payload_type,
            "signatures": [{"keyid": key, "sig": base64.b64encode(sig).decode()} for key, sig in self.signatures],
        }
        return json.dumps(row, indent=2) + "\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Envelope":
        """Return the envelope in a JSON text. Raises ValueError where it is none, or larger than 64 KB."""
        if len(data) > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
        try:
            raw = msgspec.json.decode(data, type=_RawEnvelope)
            signatures = tuple((s.keyid, base64.b64decode(s.sig, validate=True)) for s in raw.signatures)
            payload = base64.b64decode(raw.payload, validate=True)
        except (msgspec.DecodeError, binascii.Error, ValueError, RecursionError) as error:
            raise ValueError(f"it is no envelope: {error}") from error
        if any(len(signature) != SIGNATURE_BYTES for _, signature in signatures):
            raise ValueError(f"a signature has not {SIGNATURE_BYTES} bytes")
        return cls(raw.payload_type, payload, signatures)
