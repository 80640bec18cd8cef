"""Sends a snapshot to a bucket: its files once each, by content, then its signatures, and its manifest last.

What a killed upload has sent is not sent again, unless it is old: the sweep may be about to remove an old object that
no manifest names. See docs/decisions/buckets.md.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from pipeline.progress import Progress
from pipeline.store.bucket.sweeping import contents
from pipeline.store.protocol import retried
from router.contract import CATALOG_DB, read_manifest
from router.errors import SnapshotInvalid
from router.files import open_in
from router.signing.envelope import MOST_BYTES, Envelope
from router.snapshot.store.bucket.daemons import run_jobs
from router.snapshot.store.bucket.head import file_object, manifest_object, signature_object
from router.snapshot.store.bucket.objects import PART, Objects
from router.snapshot.store.bucket.remote import RemoteCatalog

_AT_ONCE = 4  # files; each holds a few parts of 8 MiB in memory
_CHECKS = 3
_BLOCK = 1 << 20
_MEGABYTE = 1_000_000

Sent = Callable[[int], None]


def relied_on(remote: RemoteCatalog, snapshots: set[str]) -> set[str]:
    """Return the contents that these snapshots keep in the bucket."""
    found: set[str] = set()
    for name in snapshots:
        with suppress(SnapshotInvalid):  # what it does not tell is sent again
            found |= contents(remote, {name})
    return found


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a snapshot: its path there, the sha256 that the manifest gives, its size in bytes."""

    name: str
    sha256: str
    size: int


class SnapshotUpload:
    """The upload of one snapshot's folder.

    `relied` are the contents that manifests in the bucket name, apart from those that retention has removed. Another
    object counts as sent only if it was written after `young`, by the bucket's clock. `again` sends every file.
    """

    def __init__(
        self, remote: RemoteCatalog, folder: Path, relied: set[str], young: datetime, *, again: bool = False
    ) -> None:
        self._remote, self._objects = remote, remote.objects
        self._folder, self._relied, self._young, self._again = folder, relied, young, again
        self._data, manifest = read_manifest(folder)
        self.name = manifest.snapshot
        self._files = _files(folder, manifest.files)

    @property
    def size(self) -> int:
        """Return the bytes of all files, each content once."""
        return sum(file.size for file in self._files)

    def run(self, sent: Sent) -> None:
        """Send what the bucket lacks, and the manifest last. `sent` hears of bytes that are there, from any thread.

        Raises StoreUnavailable, SnapshotInvalid where a file differs from the manifest, or the bucket holds another
        snapshot of the name, and OSError where a file cannot be read.
        """
        self._send(self._files, sent, again=self._again)
        if not self._objects.create(manifest_object(self.name), self._data):
            self._remote.forget(self.name)
            if self._remote.manifest_bytes(self.name) != self._data:
                raise SnapshotInvalid(
                    f"{self._objects.url} holds another snapshot of the name {self.name}: nothing was replaced"
                )
        self._relied = {file.sha256 for file in self._files}  # by this manifest
        for _ in range(_CHECKS):
            if not (lost := [file for file in self._files if not self._is_there(file)]):
                return
            self._send(lost, lambda _: None, again=True)

    def _send(self, files: list[_File], sent: Sent, *, again: bool) -> None:
        """Send files, several at once. The first error, and Ctrl-C, stop the others."""
        run_jobs([partial(self._send_one, file, sent, again) for file in files], _AT_ONCE, threading.Event())

    def _send_one(self, file: _File, sent: Sent, again: bool, stop: threading.Event) -> None:
        if not again and self._is_there(file):
            sent(file.size)
            return
        pieces = self._pieces(file, sent, stop)
        name = file_object(file.sha256)
        self._objects.put(name, pieces if file.size > PART else b"".join(pieces))
        stored = self._objects.stat(name)
        if stored is None or stored.size != file.size:
            found = "nothing" if stored is None else f"{stored.size:,} bytes"
            raise SnapshotInvalid(f"{self._objects.url}/{name} holds {found} after {file.size:,} bytes were sent")

    def _is_there(self, file: _File) -> bool:
        """Return whether the bucket has a file's content, and no sweep will remove it."""
        stored = self._objects.stat(file_object(file.sha256))
        if stored is None or stored.size != file.size:
            return False
        return file.sha256 in self._relied or stored.modified > self._young

    def _pieces(self, file: _File, sent: Sent, stop: threading.Event) -> Iterator[bytes]:
        """Yield a file's bytes; raise SnapshotInvalid at the end if they are not what the manifest says."""
        digest = hashlib.sha256()
        with os.fdopen(open_in(self._folder, file.name), "rb") as stream:
            while piece := stream.read(_BLOCK):
                if stop.is_set():
                    raise InterruptedError("the upload was stopped")
                digest.update(piece)
                sent(len(piece))
                yield piece
        if digest.hexdigest() != file.sha256:
            raise SnapshotInvalid(
                f"{self._folder / file.name} is corrupt: its checksum is not the one in the manifest; nothing of it "
                "was stored"
            )


def _files(folder: Path, checksums: Mapping[str, str]) -> list[_File]:
    """Return the files of a snapshot, each content once, the largest first. Raises SnapshotInvalid."""
    from pipeline.store.deltas.databases import database_file  # with sqlite3

    if CATALOG_DB in checksums:
        database_file(folder)  # it may be stored as a delta
    by_content: dict[str, _File] = {}
    for name, sha256 in checksums.items():
        try:
            by_content.setdefault(sha256, _File(name, sha256, (folder / name).stat().st_size))
        except OSError as error:
            raise SnapshotInvalid(f"{folder / name} cannot be read: {error}") from error
    return sorted(by_content.values(), key=lambda file: (-file.size, file.name))


def megabytes_told(progress: Progress, total: int) -> Sent:
    """Begin the upload of `total` bytes, and return what counts bytes from any thread and tells whole megabytes."""
    progress.start("upload", last := -(-total // _MEGABYTE))
    lock, counted, told = threading.Lock(), 0, 0

    def add(count: int) -> None:
        nonlocal counted, told
        with lock:
            counted += count
            # What is sent twice does not count beyond the total.
            megabytes = last if counted >= total else counted // _MEGABYTE
            if megabytes > told:
                progress.advance(megabytes - told)
                told = megabytes

    return add


@retried
def add_signatures(objects: Objects, snapshot: str, data: bytes) -> None:
    """Store signatures of a snapshot beside those that the bucket has of the same statement, and replace any others.

    Raises StoreUnavailable, and ValueError where `data` holds no signatures.
    """
    name = signature_object(snapshot)
    stored, version = None, None
    with suppress(FileNotFoundError):
        stored, version = objects.read(name, MOST_BYTES)
    merged = _merged(stored, data)
    if merged != stored:
        objects.replace(name, merged, version)


def _merged(stored: bytes | None, data: bytes) -> bytes:
    new = Envelope.from_json(data)
    try:
        old = Envelope.from_json(stored or b"")
    except ValueError:  # none, or damaged
        return data
    if old.message != new.message:  # of another manifest: not signed on trust
        return data
    keys = {signature.keyid for signature in new.signatures}
    others = tuple(signature for signature in old.signatures if signature.keyid not in keys)
    if not others:
        return data if {*old.signatures} != {*new.signatures} else stored or data
    return Envelope(new.payload, new.payload_type, (*others, *new.signatures)).to_json().encode()
