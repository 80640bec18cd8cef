"""What a bucket's CURRENT holds, read again only where it has changed."""

import threading

from router.errors import SnapshotInvalid
from router.process import renew_in_child
from router.snapshot.store.bucket.head import MOST_BYTES, Head
from router.snapshot.store.bucket.layout import HEAD
from router.snapshot.store.bucket.objects import Objects, ObjectVersion

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

    def doubt(self) -> None:
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
