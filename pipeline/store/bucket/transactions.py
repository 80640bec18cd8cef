"""Changes of the object CURRENT: read, changed in memory, and written once, if nobody else wrote it meanwhile."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.store.protocol import retried
from router.snapshot.store.bucket.head import HEAD, Head
from router.snapshot.store.bucket.objects import Objects, ObjectVersion
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.protocol import StoreChanged, StoreUnavailable


@dataclass
class _Open:
    """A transaction that has not ended: what was read, with its version, and what is to be written."""

    before: Head
    version: ObjectVersion | None
    after: Head


class Transactions:
    """The transactions of one store. One runs at a time in a process; others are told apart by the object's version."""

    def __init__(self, remote: RemoteCatalog, written: Callable[[Head], object] = lambda head: None) -> None:
        """Change a catalog's CURRENT; `written` hears of each head that this store has written."""
        self._remote = remote
        self._written = written
        self._objects: Objects = remote.objects
        self._lock = threading.Lock()
        self._by_thread = threading.local()

    def head(self) -> Head:
        """Return what CURRENT holds; inside a transaction, what this thread would write."""
        return transaction.after if (transaction := self._current()) else self._remote.head()[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write at the end of the block what it has changed, in one step; nothing where it raises.

        Raises StoreChanged where somebody else wrote CURRENT meanwhile, and StoreUnavailable where the bucket does not
        answer: then it may have been written all the same.
        """
        with self._lock:
            before, version = self._remote.head()
            transaction = self._by_thread.open = _Open(before, version, before)
            try:
                yield
            finally:
                self._by_thread.open = None
            if transaction.after != before:
                self._written(self._write(transaction))

    def change(self, changed: Callable[[Head], Head]) -> None:
        """Change CURRENT: at the end of this thread's transaction, or at once, again where somebody else was first."""
        if transaction := self._current():
            transaction.after = changed(transaction.after)
            return

        @retried
        def alone() -> None:
            with self.transaction():
                self.change(changed)

        alone()

    def _current(self) -> _Open | None:
        return getattr(self._by_thread, "open", None)

    def _write(self, transaction: _Open) -> Head:
        """Write CURRENT and return it. A refusal may answer obstore's second attempt, whose first one was done."""
        change = secrets.token_hex(8)
        head = transaction.after.changed_by(change, transaction.before)
        try:
            self._objects.replace(HEAD, head.to_json(), transaction.version)
        except (StoreChanged, StoreUnavailable):
            if change not in self._remote.head()[0].changes:
                raise
        return head
