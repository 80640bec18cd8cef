"""A catalog in a bucket as routers read it: a cache on this machine that follows what the bucket publishes."""

import logging
import os
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from router.contract import SIGNATURE
from router.errors import SettingsInvalid, SnapshotInvalid
from router.files import read_in
from router.process import renew_in_child
from router.signing.envelope import MOST_BYTES as MOST_SIGNATURE_BYTES
from router.snapshot.store.bucket.cache import Cache, mark, mirror, origin_of
from router.snapshot.store.bucket.daemons import Stopped
from router.snapshot.store.bucket.objects import Objects, ObjectUnavailable, ObjectVersion
from router.snapshot.store.bucket.pulling import Pulled, Report, pull
from router.snapshot.store.bucket.remote import Published, RemoteCatalog
from router.snapshot.store.bucket.url import catalog_of, checked_url
from router.snapshot.store.durable import replace_text
from router.snapshot.store.pointer import is_snapshot_name, stored_folders
from router.snapshot.store.protocol import Admit, Stored

_logger = logging.getLogger("router")
# A look at what is current: a router that starts, or watches, waits no longer for a bucket that does not answer.
_LOOK_REQUEST_S, _LOOK_PATIENCE_S = 8.0, 4.0
_FILE_REQUEST_S, _FILE_PATIENCE_S = 60.0, 15.0
_START_S = 12.0  # a router that starts with something in the cache waits no longer for something newer
_WAIT_S = 300.0  # for another process that pulls into the same cache


class BucketReader:
    """The snapshots of a catalog in a bucket, for reading. It is a `SignedStore` and a `CachingStore`.

    Only `publication`, `current`, `local_folder`, `snapshots`, `repair` and `pull` ask the bucket, each for a bounded
    time. A child that is forked follows the cache instead, which its parent goes on filling: the client of the bucket
    does not outlast a fork.
    """

    def __init__(self, url: str, folder: Path) -> None:
        """Read the catalog at an address, and cache its snapshots in a catalog's folder. Nothing is asked yet.

        Raises SettingsInvalid for a wrong address, without obstore, and where the folder cannot be made
        or is another address's.
        """
        self._url = checked_url(url)
        self._looking = Objects(url, _LOOK_PATIENCE_S, _LOOK_REQUEST_S)
        self._catalog = RemoteCatalog(Objects(url, _FILE_PATIENCE_S, _FILE_REQUEST_S))
        self.cache = Cache(folder)
        if (origin := origin_of(folder)) not in (None, self._url):
            raise SettingsInvalid(f"{folder} caches {origin}: name another for {self._url}")
        self._published = Published(self._looking)
        # The snapshot whose signature was read, and the version of CURRENT then.
        self._signed: tuple[str, ObjectVersion | None] | None = None
        self._verified: str | None = None
        self._serving: str | None = None
        self._start_ends: float | None = None  # while a router starts; by time.monotonic
        self._admit: Admit | None = None
        self._stop = threading.Event()
        self._process = os.getpid()
        self._fetching = threading.Lock()
        renew_in_child(self, "_fetching")

    @property
    def label(self) -> str:
        """Return the address."""
        return self._url

    @property
    def catalog(self) -> str:
        """Return the catalog's name: the last part of the address, which whoever reads it has chosen."""
        return catalog_of(self._url)

    def publication(self) -> Hashable:
        """Return what is current, by one conditional request. Raises ObjectUnavailable and SnapshotInvalid."""
        if self._is_forked():
            return self.cache.store.publication()
        if self._serving is None and self._start_ends is None:
            self._start_ends = time.monotonic() + _START_S
        head = self._published.read()
        return head.snapshot, head.pointer

    def current(self) -> str | None:
        """Return the name of the current snapshot, read again. Raises as `publication` does."""
        return self.cache.store.current() if self._is_forked() else self._published.read().snapshot

    def signed_pointer(self) -> bytes | None:
        """Return the signed statement that was read with the current snapshot; the cache's where nothing was read."""
        head = self._published.head
        if head is None or self._is_forked():
            return self.cache.store.signed_pointer()
        return head.pointer.encode() or None

    def snapshots(self) -> list[Stored]:
        """Return the snapshots that the bucket lists, newest first. Raises as `publication` does."""
        return self.cache.store.snapshots() if self._is_forked() else self._catalog.stored(self._published.read())

    def local_folder(self, name: str) -> Path:
        """Return the folder of a snapshot in the cache, where it stays; what is missing is fetched.

        While a router starts whose cache has another one to serve, that takes no longer than 12 s in all. Raises
        SnapshotInvalid where the bucket has none, or a damaged one, and OSError.
        """
        if self._is_forked():
            return self.cache.store.local_folder(name)
        if not is_snapshot_name(name):
            raise SnapshotInvalid(f"{self._url} has no snapshot {name!r:.100}")
        with self._fetching:
            folder = self.cache.hold(name)
            if folder is None:
                with self._in_time(name) as stop:
                    self._pull(name, anew=False, stop=stop)
                folder = self.cache.hold(name)
            else:
                self._renew_signature(name, folder)
        if folder is None:
            raise SnapshotInvalid(f"{self.cache.folder / name} cannot be read, although it was fetched just now")
        return folder

    def admit(self, check: Admit) -> None:
        """Call `check` before files are fetched, as `CachingStore.admit` says."""
        self._admit = check

    def serves(self, name: str) -> None:
        """Make a snapshot the cache's current one. What serves, and what served before it, stay in the cache."""
        if self._is_forked():
            return
        kept = [name] if self._serving in (None, name) else [name, str(self._serving)]
        try:
            self.cache.remember(name, self.signed_pointer())
            if name != self._serving:
                self.cache.hold_only(kept)
                with suppress(BlockingIOError):
                    self.cache.remove_all_but(kept)
        except OSError as error:
            _logger.warning("%s: the cache %s cannot be kept in order: %s", self._url, self.cache.folder, error)
        if name != self._serving:
            self._verified = None
        self._serving, self._start_ends = name, None

    def last_served(self) -> Path | None:
        """Return the folder of the cache's current snapshot; None where it has none that can be read."""
        self._published.forget()
        self._start_ends = None
        name = self.cache.current()
        return self.cache.hold(name) if name else None

    def repair(self, name: str) -> bool:
        """Replace a snapshot in the cache by the bucket's; return False where that is where it came from just now.

        Raises as `local_folder` does.
        """
        if self._is_forked() or self.has_just_fetched(name):
            return False
        with self._fetching:
            self._pull(name, anew=True)
        return True

    def has_just_fetched(self, name: str) -> bool:
        """Return whether a snapshot was fetched and verified since the last one began to serve."""
        return self._verified == name

    def pull(self, name: str, report: Report, *, anew: bool = False) -> Pulled | None:
        """Fetch a snapshot as `local_folder` does, and tell of it; None where the cache has it.

        `anew` replaces what the cache has of that name. Raises as `local_folder` does.
        """
        with self._fetching:
            return self._pull(name, anew=anew, report=report)

    def mirror(self) -> bool:
        """Let the cache say what the bucket says, its decisions too; return False where it is not this bucket's cache.

        That is a folder in which a catalog was built.
        """
        if origin_of(self.cache.folder) is None:
            return False
        mirror(self.cache.store, self._published.read())
        return True

    def close(self) -> None:
        """End a pull that is under way, and let others remove what this process served."""
        self._stop.set()
        self.cache.close()

    @contextmanager
    def _in_time(self, name: str) -> Iterator[threading.Event]:
        """Give an event that ends a pull: by `close`, or while a router starts that can serve another one, in time.

        Raises ObjectUnavailable where the time is over.
        """
        last = self.cache.current()
        if self._start_ends is None or last in (None, name) or self.cache.hold(str(last)) is None:
            yield self._stop
            return
        late = threading.Event()
        timer = threading.Timer(max(0.0, self._start_ends - time.monotonic()), late.set)
        timer.daemon = True
        timer.start()
        try:
            yield late
        except (Stopped, ObjectUnavailable) as error:
            if not late.is_set():
                raise
            raise ObjectUnavailable(f"{self._url}: {name} did not come within {_START_S:.0f} s") from error
        finally:
            timer.cancel()

    def _pull(
        self, name: str, *, anew: bool, report: Report = lambda done, total: None, stop: threading.Event | None = None
    ) -> Pulled | None:
        stop = stop or self._stop
        try:
            with self.cache.locked(_WAIT_S, stop):
                if not anew and self.cache.hold(name):  # another process has fetched it meanwhile
                    return None
                if not stored_folders(self.cache.folder):  # a catalog that was built here stays one
                    mark(self.cache.store, self._url)
                pulled = pull(self._catalog, self.cache, name, stop, self._admit, report)
                self.cache.hold(name)  # before anybody can remove it
        except BlockingIOError as error:
            raise ObjectUnavailable(f"another process pulls into this cache for a long time: {error}") from error
        except BaseException:
            self._published.invalidate()
            raise
        self._verified, self._signed = name, (name, self._published.version)
        _logger.info(
            "%s: fetched %s: %d files of %s bytes; %d files were there",
            self._url,
            name,
            pulled.fetched,
            f"{pulled.bytes:,}",
            pulled.reused,
        )
        return pulled

    def _renew_signature(self, name: str, folder: Path) -> None:
        """Read the signatures of a cached snapshot again after each publication: another key may have signed it."""
        if self._signed == (name, self._published.version):
            return
        signature = RemoteCatalog(self._looking).signature(name)
        if signature is not None:
            known: bytes | None = None
            with suppress(OSError):
                known = read_in(folder, SIGNATURE, MOST_SIGNATURE_BYTES)[0]
            if signature != known:
                replace_text(folder / SIGNATURE, signature.decode("utf-8", "replace"))
        self._signed = name, self._published.version

    def _is_forked(self) -> bool:
        return os.getpid() != self._process
