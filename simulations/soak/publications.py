"""Snapshots published by turns into a bucket, each time under a new name and number, as builds publish them."""

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.store.bucket.store import BucketStore, push
from router.contract import MANIFEST, Manifest
from tests.support.publishing import sign


@dataclass(frozen=True)
class Publication:
    """A snapshot in the bucket: its name, which of the built ones it is a copy of, and since when it is current."""

    name: str
    base: int
    at: float


class Publisher:
    """Publishes copies of built snapshots by turns.

    Two copies have the same files and another name and number: a router takes the later one for a new snapshot, and
    fetches those of its files that its cache no longer has.
    """

    def __init__(self, url: str, bases: Sequence[Path], work: Path) -> None:
        """Publish `bases` at an address. The variables of the environment must lead to its bucket."""
        self._store = BucketStore(url, work / "pushed" / "snapshots" / url.rpartition("/")[2])
        self._bases = bases
        self._copies = work / "copies"
        self.done: list[Publication] = []

    def publish(self) -> Publication:
        """Publish the next copy; return it once it serves. Raises RuntimeError where the bucket refuses to serve it."""
        number = len(self.done)
        base = number % len(self._bases)
        folder = self._copy(self._bases[base], number + 1)
        reasons = push(self._store, folder)
        published = Publication(folder.name, base, time.monotonic())
        shutil.rmtree(folder)
        if reasons:
            raise RuntimeError(f"{folder.name} was pushed and does not serve: {'; '.join(reasons)}")
        self.done.append(published)
        return published

    def _copy(self, base: Path, number: int) -> Path:
        manifest = Manifest.read(base)
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{manifest.content_hash[:4]}{number:04d}"
        folder = Path(shutil.copytree(base, self._copies / name, copy_function=os.link))

        def change(fields: dict[str, Any]) -> None:
            # A gate may have held it, since it differs much from the one built before: here it is meant to.
            fields |= {"snapshot": name, "sequence": number, "held": []}

        sign(folder, change)
        assert json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["snapshot"] == name
        return folder
