"""Snapshots to publish: copies of one, each told apart by its id, its recipe and its answers; and ones that are bad."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from router.contract import CATALOG_DB, CURRENT, MANIFEST
from router.fingerprint import fingerprint
from router.store import SnapshotStore


class Publications:
    """A catalog's folder in which copies of a snapshot stand under ids of their own, and are published."""

    def __init__(self, workspace: Path, snapshot: Path) -> None:
        self._store = SnapshotStore(workspace, "office")
        self._snapshot = snapshot
        self.folder = self._store.folder

    def add(self, name: str, *, weights: dict[str, float] | None = None, **fields: Any) -> Path:
        """A copy, by links, under another id; its recipe has the same name, and other weights if given."""

        def change(manifest: dict[str, Any]) -> None:
            manifest["snapshot"] = manifest["recipe"]["name"] = name
            manifest["recipe"]["weights"] = weights or manifest["recipe"]["weights"]
            manifest.update(fields)

        folder = Path(shutil.copytree(self._snapshot, self.folder / name, copy_function=os.link))
        sign(folder, change)
        return folder

    def publish(self, name: str) -> None:
        """Move CURRENT, as a build does."""
        self._store.publish(name)

    def point(self, text: str) -> None:
        """Write CURRENT, whatever it is to say."""
        (self.folder / CURRENT).write_text(text, encoding="utf-8")


def sign(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest and sign it again, as another build would have."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del manifest["checksum"]
    change(manifest)
    manifest["checksum"] = fingerprint(manifest)
    _put(folder / MANIFEST, json.dumps(manifest).encode())


def corrupt(folder: Path) -> Path:
    """Flip a bit of the first file of a snapshot that a router reads; that file."""
    files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    path = next(folder / name for name in sorted(files) if name != CATALOG_DB and (folder / name).stat().st_size)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    _put(path, data)
    return path


def _put(path: Path, data: bytes) -> None:
    """Write a file anew: what stood there may be linked to another snapshot's."""
    path.unlink()
    path.write_bytes(data)
