"""Publish copies of a snapshot that differ in name, recipe and answers, and damage them."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.store import SnapshotStore
from router import Router
from router.contract import CATALOG_DB, CURRENT, MANIFEST
from router.fingerprint import file_sha256, fingerprint
from router.snapshot.reloading import ReloadingSnapshot


class Publications:
    """The catalog "office" of a workspace, with copies of one snapshot under names of their own."""

    def __init__(self, workspace: Path, snapshot: Path) -> None:
        self._store = SnapshotStore(workspace, "office")
        self._snapshot = snapshot
        self.folder = self._store.folder

    def add(self, name: str, *, weights: dict[str, float] | None = None, **fields: Any) -> Path:
        """Add a copy under another name, made of hard links, and return its folder.

        Its recipe has the same name as the copy, and `weights` if given. `fields` replace those of the manifest.
        """

        def change(manifest: dict[str, Any]) -> None:
            manifest["snapshot"] = manifest["recipe"]["name"] = name
            manifest["recipe"]["weights"] = weights or manifest["recipe"]["weights"]
            manifest.update(fields)

        folder = Path(shutil.copytree(self._snapshot, self.folder / name, copy_function=os.link))
        sign(folder, change)
        return folder

    def publish(self, name: str) -> None:
        """Publish a copy as a build does."""
        self._store.publish(name)

    def point(self, text: str) -> None:
        """Write any text to CURRENT."""
        (self.folder / CURRENT).write_text(text, encoding="utf-8")


def live(router: Router) -> ReloadingSnapshot:
    """Return what an unrestricted router serves from."""
    assert isinstance(router._live, ReloadingSnapshot)
    return router._live


def look(router: Router) -> None:
    """Look for a publication, as the thread of a watching router does."""
    live(router).look()


def sign(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest and write it with the new checksum."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del manifest["checksum"]
    change(manifest)
    manifest["checksum"] = fingerprint(manifest)
    _replace(folder / MANIFEST, json.dumps(manifest).encode())


def sign_database(folder: Path) -> None:
    """Write the sha256 of `catalog.duckdb` as it is now into the manifest."""
    sign(folder, lambda manifest: manifest["files"].update({CATALOG_DB: file_sha256(folder / CATALOG_DB)}))


def corrupt(folder: Path) -> Path:
    """Flip a bit in the first file of a snapshot that a router reads, and return the file."""
    files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    path: Path = next(folder / name for name in sorted(files) if name != CATALOG_DB and (folder / name).stat().st_size)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    _replace(path, bytes(data))
    return path


def _replace(path: Path, data: bytes) -> None:
    """Replace a file. Writing into it would change other snapshots, whose files may be links to it."""
    path.unlink()
    path.write_bytes(data)
