"""Snapshots put into a bucket by the layout alone, without the code that pushes them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import obstore
from obstore.store import S3Store

from router.contract import SIGNATURE, Manifest
from router.snapshot.store.bucket.head import HEAD, Head, file_object, manifest_object, signature_object
from tests.support.object_storage import Bucket

CATALOG = "office"


class BucketCatalog:
    """The catalog "office" of a bucket. `url` is its address."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.url = f"{bucket.url}/catalogs/{CATALOG}"
        self.store: S3Store = bucket.store(f"catalogs/{CATALOG}")
        self.head = Head()
        self._sent: set[str] = set()

    def upload(self, folder: Path) -> str:
        """Put a snapshot's files that are not there yet, then its signature and its manifest; return its name."""
        manifest = Manifest.read(folder)
        for path, sha256 in manifest.files.items():
            if sha256 not in self._sent:
                obstore.put(self.store, file_object(sha256), (folder / path).read_bytes())
                self._sent.add(sha256)
        if (folder / SIGNATURE).exists():
            obstore.put(self.store, signature_object(folder.name), (folder / SIGNATURE).read_bytes())
        obstore.put(self.store, manifest_object(folder.name), (folder / "manifest.json").read_bytes())
        return folder.name

    def publish(self, name: str, pointer: str = "") -> None:
        """Make a snapshot the current one."""
        self.head = replace(self.head, snapshot=name, pointer=pointer, revision=self.head.revision + 1)
        obstore.put(self.store, HEAD, self.head.to_json())

    def remove(self, name: str, files: Mapping[str, str]) -> None:
        """Remove a snapshot, and files by their sha256."""
        self._sent -= {*files.values()}
        obstore.delete(self.store, [manifest_object(name), *map(file_object, files.values())])

    def overwrite(self, sha256: str, content: bytes) -> None:
        """Put a wrong content in the place of a file."""
        self._sent.discard(sha256)
        obstore.put(self.store, file_object(sha256), content)
