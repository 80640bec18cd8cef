"""Snapshots of a few bytes, for tests of what stores, sends and removes files without opening them."""

from pathlib import Path
from typing import Any

from router.contract import FORMAT_VERSION, Manifest
from router.fingerprint import file_sha256


def write_bare_snapshot(folder: Path, files: dict[str, bytes], **fields: Any) -> Path:
    """Write a snapshot of these files, whose manifest can be read, into a folder of its name, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    given: dict[str, Any] = {
        "snapshot": folder.name,
        "catalog": "office",
        "created_at": "2026-01-01T00:00:00+00:00",
        "content_hash": "a" * 64,
        "versions": {"format": FORMAT_VERSION},
        "signals": (),
        "encoder": None,
        "generators": {},
        "recipe": {},
        "counts": {"tools": 1, "phrases": 0},
        "token_counter": "none",
        "files": {name: file_sha256(folder / name) for name in files},
    }
    Manifest(**{**given, **fields}).write(folder)
    return folder
