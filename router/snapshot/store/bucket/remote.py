"""A catalog as its bucket holds it: what is current, the manifests, the signatures. Nothing is written."""

import threading
from collections.abc import Collection
from pathlib import Path

from router.contract import MOST_MANIFEST_BYTES, Manifest, sequence_of
from router.errors import SnapshotInvalid
from router.process import renew_in_child
from router.signing.envelope import MOST_BYTES as MOST_SIGNATURE_BYTES
from router.snapshot.store.bucket.head import (
    HEAD,
    MOST_BYTES,
    SNAPSHOTS,
    Head,
    manifest_object,
    signature_object,
    snapshot_of,
)
from router.snapshot.store.bucket.objects import Objects, ObjectVersion
from router.snapshot.store.pointer import is_snapshot_name
from router.snapshot.store.protocol import Stored


class RemoteCatalog:
    """The reading side of a catalog in a bucket. May be used from any thread.

    Manifests never change, so each is read once. Methods raise StoreUnavailable where the bucket does not answer.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._manifests: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Return the catalog's address."""
        return self.objects.url

    def head(self) -> tuple[Head, ObjectVersion | None]:
        """Return what CURRENT holds, and its version: None where nothing was written yet. Raises SnapshotInvalid."""
        try:
            data, version = self.objects.read(HEAD, MOST_BYTES)
        except FileNotFoundError:
            return Head(), None
        return Head.from_json(data, f"{self.url}/{HEAD}"), version

    def manifest_bytes(self, name: str) -> bytes:
        """Return a snapshot's manifest as it is stored. Raises SnapshotInvalid where the bucket has none."""
        with self._lock:
            known = self._manifests.get(name)
        if known is not None:
            return known
        if not is_snapshot_name(name):
            raise SnapshotInvalid(f"{self.url} has no snapshot {name!r}")
        try:
            data, _ = self.objects.read(manifest_object(name), MOST_MANIFEST_BYTES)
        except FileNotFoundError:
            raise SnapshotInvalid(f"{self.url} has no snapshot {name!r}") from None
        with self._lock:
            self._manifests[name] = data
        return data

    def manifest(self, name: str) -> Manifest:
        """Return a snapshot's manifest. Raises SnapshotInvalid where it is missing, damaged or of another format."""
        try:
            return Manifest.from_bytes(self.manifest_bytes(name), Path(manifest_object(name)))
        except SnapshotInvalid as error:
            if self.url in str(error):
                raise
            raise SnapshotInvalid(f"{self.url}: {error}") from error

    def forget(self, name: str) -> None:
        """Read a manifest again that was removed."""
        with self._lock:
            self._manifests.pop(name, None)

    def signature(self, name: str) -> bytes | None:
        """Return the signatures of a snapshot; None where it has none."""
        try:
            return self.objects.read(signature_object(name), MOST_SIGNATURE_BYTES)[0]
        except FileNotFoundError:
            return None

    def names(self, also: Collection[str] = ()) -> set[str]:
        """Return the names of all snapshots that the listing shows, and of those of `also` that are there.

        A listing may be late: what is known from elsewhere, such as the current one, is asked for by name.
        """
        listed = {name for stored in self.objects.list(SNAPSHOTS) if (name := snapshot_of(stored.name))}
        return listed | {name for name in also if name not in listed and self._is_there(name)}

    def stored(self, head: Head, also: Collection[str] = ()) -> list[Stored]:
        """Return the snapshots that retention has not removed, newest first. `also` is as in `names`."""
        known = {
            *also,
            *([head.snapshot] if head.snapshot else []),
            *([head.state.pin.snapshot] if head.state.pin else []),
        }
        names = self.names(known) - set(head.removed)
        found = [stored for name in names if (stored := self._stored(name, name == head.snapshot))]
        return sorted(found, key=lambda stored: stored.order, reverse=True)

    def _is_there(self, name: str) -> bool:
        return is_snapshot_name(name) and self.objects.stat(manifest_object(name)) is not None

    def _stored(self, name: str, current: bool) -> Stored | None:
        """Return a snapshot; None where it was removed since it was listed."""
        try:
            data = self.manifest_bytes(name)
        except SnapshotInvalid:
            return None
        try:
            return Stored(name, self.manifest(name), current)
        except SnapshotInvalid as error:
            return Stored(name, None, current, str(error), sequence_of(data))


_TRIES = 3  # a byte may flip on the way


class Published:
    """CURRENT as it was read last: `head`, and its `version`; both None before. May be used from any thread."""

    def __init__(self, objects: Objects) -> None:
        """Read through `objects`. Nothing is asked yet."""
        self._objects = objects
        self.head: Head | None = None
        self.version: ObjectVersion | None = None
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")

    def read(self) -> Head:
        """Return what CURRENT holds, by a conditional request. Raises ObjectUnavailable and SnapshotInvalid."""
        with self._lock:
            for left in reversed(range(_TRIES)):
                try:
                    return self._read()
                except SnapshotInvalid:
                    if not left:
                        raise
        raise AssertionError  # the last try returns or raises

    def invalidate(self) -> None:
        """Read CURRENT whole the next time: what it named was not there, and it may have been damaged on the way."""
        with self._lock:
            self.version = None

    def forget(self) -> None:
        """Know nothing of CURRENT until it is read again."""
        with self._lock:
            self.head = self.version = None

    def _read(self) -> Head:
        try:
            answer = self._objects.read_if_changed(HEAD, self.version, MOST_BYTES)
        except FileNotFoundError:
            self.head, self.version = Head(), None
            return self.head
        if answer is not None:
            self.head, self.version = Head.from_json(answer[0], f"{self._objects.url}/{HEAD}"), answer[1]
        assert self.head is not None
        return self.head
