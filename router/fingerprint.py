"""Hashes: the content keys of the build and the checksums of a snapshot.

They are in `router` because the build writes checksums and the router verifies them.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def canonical_json(value: Any) -> str:
    """Return the same JSON text for equal values: sorted keys, no spaces, non-ASCII kept.

    Raises TypeError for values that JSON cannot express.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """Return the sha256 (64 hex digits) of a value's canonical JSON."""
    # Lone surrogates, from a catalog's "\\ud800" escape, must not raise.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the sha256 (64 hex digits) of a file's bytes. Raises OSError where it cannot be read."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
