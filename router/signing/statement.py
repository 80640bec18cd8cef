"""What is signed: that a manifest is one of a catalog's snapshots, with a number that says what is newer."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from router.contract import Manifest
from router.signing.envelope import Envelope

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
        return Envelope(PAYLOAD_TYPE, json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode())

    @classmethod
    def from_payload(cls, envelope: Envelope) -> "Statement":
        """Return the statement of an envelope whose signature was checked. Raises ValueError where it is none."""
        if envelope.payload_type != PAYLOAD_TYPE:
            raise ValueError(f"it signs {envelope.payload_type!r:.100}, not {PAYLOAD_TYPE!r}")
        try:
            return msgspec.json.decode(envelope.payload, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"it signs no statement about a snapshot: {error}") from error
