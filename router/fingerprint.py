"""The only place that hashes: content keys of the build, checksums of a snapshot.

It lives in `router` because both sides must agree on it: the build writes checksums, the router verifies them.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def canonical_json(value: Any) -> str:
    """One text for equal values: sorted keys, no spaces, non-ASCII kept. Raises TypeError on what JSON has not."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """sha256 (64 hex digits) of a value's canonical JSON."""
    # Lone surrogates can come from a catalog's "\\ud800" escape; they must hash, not raise.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 (64 hex digits) of a file's bytes. Raises OSError where it cannot be read."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
