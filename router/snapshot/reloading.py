"""The snapshot that a router serves: a newly published one, and registered tools, replace it in one step."""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from router.errors import QuartermasterError, SettingsInvalid, SnapshotInvalid
from router.process import renew_in_child, return_freed_memory
from router.refusals import is_panic
from router.snapshot.cached_encoder import with_request_cache
from router.snapshot.current import Freshness, Unreadable, open_current, open_last_served, publication_of
from router.snapshot.overlay import Overlay
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.path import SnapshotPath, open_store
from router.snapshot.store.protocol import CachingStore, ReadableStore

if TYPE_CHECKING:
    from router.signing.trusted_keys import KeySources
    from router.snapshot.trust import Trust
    from router.snapshot.watching import Watcher

_logger = logging.getLogger("router")
_LONGEST_WATCH = 86_400  # a day
_LONGEST_PAUSE = 64  # looks between two attempts to open a snapshot that was refused
_CLOSING_S = 2.0  # that `close` waits for a look which is under way


class ReloadingSnapshot:
    """The current snapshot of a store, with an overlay on top. Only the attribute `snapshot` changes, in one step.

    A request reads `snapshot` once and uses nothing else, so its answer comes from one snapshot, and takes no lock. The
    old snapshot is freed with the last request that uses it.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        store: ReadableStore | None = None,
        request_cache: int = 0,
        trust: "Trust | None" = None,
    ) -> None:
        """Serve an opened snapshot. Without a store, one on disk is reloaded from its folder, one in memory never.

        With `trust`, only snapshots that it accepts replace it.
        """
        self.snapshot = self._base = snapshot
        if store is None and snapshot.folder is not None:
            store = SnapshotPath(snapshot.folder)
        self._store = store
        self._request_cache = request_cache
        self.trust = trust
        self.refusal = ""
        """Why the newest publication does not serve, as a sentence; empty where it serves."""
        self._changing, self._reloading = threading.Lock(), threading.Lock()
        renew_in_child(self, "_changing")
        renew_in_child(self, "_reloading")
        self._seen: Hashable = None
        self._refused: Hashable = None
        self._pause = self._failures = 0
        self._owns_store = self._closed = False
        self._interval: float | None = None
        self._read_at: float | None = None
        self._current_at: float | None = None
        self._watcher: Watcher | None = None

    @classmethod
    def open(
        cls,
        source: str | Path | ReadableStore,
        *,
        watch: float | None = None,
        cache_dir: str | Path | None = None,
        request_cache: int = 0,
        overlay: Path | None = None,
        trusted_keys: "KeySources | None" = None,
        catalog: str | None = None,
        trust_state: str | Path | None = None,
    ) -> "ReloadingSnapshot":
        """Open the current snapshot of a path, an address or a store.

        With `watch`, look every `watch` seconds for a new publication, within a tenth, and first at a random moment
        of the interval: routers that start together do not look together. `cache_dir` is that of `open_store`.
        `request_cache` is the number of requests whose vectors are kept. `overlay` is a file that `save` wrote, to be
        laid over the snapshot. `trusted_keys`, `catalog` and `trust_state` are those of `Trust.of`.

        Where an address gives no snapshot, the one in its cache that served last is opened, with a warning. Raises
        SnapshotInvalid, and SettingsInvalid for a setting out of its range.
        """
        if watch is not None and (
            isinstance(watch, bool) or not isinstance(watch, int | float) or not 0 < watch <= _LONGEST_WATCH
        ):
            raise SettingsInvalid(f"watch is {watch!r}, it must be seconds above 0, up to {_LONGEST_WATCH:,}, or None")
        checked_request_cache(request_cache)
        store = open_store(source, cache_dir)
        trust = None
        if (trusted_keys, catalog, trust_state) != (None, None, None):
            from router.snapshot.trust import Trust  # here: most routers check no signature

            trust = Trust.of(store, trusted_keys, catalog, trust_state)
        if trust is not None and isinstance(store, CachingStore):
            store.admit(trust.admit)
        read_at = time.monotonic()
        publication = publication_of(store)  # read first: a publication during the opening is then noticed
        refusal = ""
        try:
            snapshot = _opened(store, trust, publication)
        except SnapshotInvalid as error:
            snapshot, refusal = open_last_served(store, trust, error), str(error)
        reloading = cls(with_request_cache(snapshot, request_cache), store, request_cache, trust)
        reloading._owns_store = store is not source
        if not isinstance(publication, Unreadable):
            reloading._read_at = read_at
        if refusal:
            reloading.refusal, reloading._refused = refusal, publication
        else:
            reloading._seen, reloading._current_at = publication, read_at
        if overlay is not None:
            from router.snapshot.overlay.storage import load_overlay  # here, as below: most snapshots have no overlay

            saved = load_overlay(overlay)
            reloading.change(lambda _: saved)
        if watch is not None:
            from router.snapshot.watching import Watcher

            return_freed_memory()  # a process that watches lives long, and loading an encoder frees 10 MB
            reloading._interval = watch
            reloading._watcher = Watcher(reloading, watch, store.label)
        return reloading

    def reload(self) -> bool:
        """Serve the store's current snapshot; return whether it is another one. In memory there is no other.

        It is opened and verified before it replaces the old one, and shares the old one's encoder where they are the
        same. Raises SnapshotInvalid where it cannot be opened: the old one then stays.
        """
        if self._store is None:
            return False
        read_at = time.monotonic()
        try:
            changed = self._reload(self._store)
        except SnapshotInvalid as error:
            self.refusal = str(error)
            raise
        self.refusal = ""
        self._read_at = self._current_at = read_at
        return changed

    def _reload(self, store: ReadableStore) -> bool:
        with self._reloading:
            before = self._base
            after = open_current(store, self.trust, before)
            if after is None:
                return False
            if after.encoder is not before.encoder:  # a shared encoder has its cache already
                after = with_request_cache(after, self._request_cache)
            with self._changing:
                self._serve(after, self.overlay)
        return_freed_memory()
        _logger.info("%s: %s serves, after %s", store.label, after.manifest.snapshot, before.manifest.snapshot)
        return True

    @property
    def freshness(self) -> Freshness:
        """Return when the source was last read, and when what serves was last found to be its newest."""
        return Freshness(self._interval, self._read_at, self._current_at)

    @property
    def overlay(self) -> Overlay:
        """Return the overlay on the snapshot, without tools that the snapshot itself has unchanged."""
        return self.snapshot.overlay

    def change(self, change: Callable[[Overlay], Overlay]) -> Overlay:
        """Replace the overlay by `change` of it, and return the new one.

        Changes wait for each other; requests wait for none. Where `change` raises, nothing changes.
        """
        with self._changing:
            self._serve(self._base, change(self.overlay))
            return self.overlay

    def save(self, path: Path) -> None:
        """Write the overlay to a file for `open`, in one step. Raises OSError where that fails."""
        from router.snapshot.overlay.storage import save_overlay

        save_overlay(self.overlay, path)

    def _serve(self, base: Snapshot, overlay: Overlay) -> None:
        from router.snapshot.overlay.layering import apply_overlay

        self.snapshot = apply_overlay(base, overlay, self.snapshot)
        self._base = base

    def look(self) -> None:
        """Reload if there was a publication since the last look.

        A refused snapshot is warned of once and tried again, at growing intervals: it may still be on its way, or the
        disk may have failed for a moment. A store that cannot be read is warned of once, and asked at each look.
        """
        if self._store is None:
            return
        looked_at = time.monotonic()
        publication = publication_of(self._store)
        if self._closed:
            return
        if not isinstance(publication, Unreadable):
            self._read_at = looked_at
        if publication == self._seen:
            self._current_at = looked_at
            if isinstance(self._refused, Unreadable):
                _logger.info("%s can be read again, and %s is current", self._store.label, self._name)
            self.refusal, self._refused = "", None
            return
        if isinstance(publication, Unreadable):
            self.refusal = publication.reason
            self._warn(publication, "%s cannot be read, and %s goes on serving: %s", publication.reason)
            return
        if publication == self._refused and self._pause:
            self._pause -= 1
            return
        try:
            self.reload()
        except BaseException as error:  # a panic is one: what serves goes on serving, and the watching goes on
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            if self._closed:  # which is why it ended
                return
            self._failures = self._failures + 1 if publication == self._refused else 0
            self._pause = min(2**self._failures, _LONGEST_PAUSE)
            self._warn(publication, "%s: the new snapshot was refused, %s goes on serving: %s", error)
        else:
            self._seen, self._refused = publication, None

    def _warn(self, publication: Hashable, sentence: str, reason: BaseException | str) -> None:
        """Warn that a publication does not serve, once for all looks that find it."""
        if publication == self._refused:
            return
        self._refused = publication
        foreseen = isinstance(reason, str | QuartermasterError)
        _logger.warning(
            sentence,
            self._store.label if self._store else "",
            self._name,
            reason if foreseen else repr(reason),
            exc_info=None if isinstance(reason, str) or foreseen else reason,
        )

    @property
    def _name(self) -> str:
        return self.snapshot.manifest.snapshot

    def close(self) -> None:
        """End the watching thread, and wait for it: at most 2 s where it asks a store elsewhere."""
        self._closed = True
        is_remote = isinstance(self._store, CachingStore)
        if isinstance(self._store, CachingStore) and self._owns_store:
            self._store.close()
        if self._watcher is not None:
            self._watcher.close(_CLOSING_S if is_remote else None)


def checked_request_cache(request_cache: int) -> int:
    """Return the number of requests to cache. Raises SettingsInvalid where it is not a whole number from 0 up."""
    if isinstance(request_cache, bool) or not isinstance(request_cache, int) or request_cache < 0:
        raise SettingsInvalid(f"request_cache is {request_cache!r}, it must be a number of requests, 0 for none")
    return request_cache


def _opened(store: ReadableStore, trust: "Trust | None", publication: Hashable) -> Snapshot:
    """Return the current snapshot of a store at the start. One that was just found away is not asked again."""
    if isinstance(publication, Unreadable):
        raise SnapshotInvalid(publication.reason)
    opened = open_current(store, trust)
    assert opened is not None
    return opened
