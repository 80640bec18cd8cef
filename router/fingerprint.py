"""Hashes: the content keys of the build and the checksums of a snapshot.

They are in `router` because the build writes checksums and the router verifies them.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from router.files import open_regular

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
    """Return the sha256 (64 hex digits) of a regular file. Raises OSError for any other, or an unreadable one."""
    descriptor = open_regular(path)
    try:
        return descriptor_sha256(descriptor)
    finally:
        os.close(descriptor)


def descriptor_sha256(descriptor: int) -> str:
    """Return the sha256 (64 hex digits) of an open file, from where it stands to its end. Raises OSError."""
    digest = hashlib.sha256()
    while block := os.read(descriptor, _BLOCK):
        digest.update(block)
    return digest.hexdigest()
