"""What a path serves, live: a new snapshot, and tools registered over it, take the old one's place in one step."""

import logging
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

from router.contract import CURRENT
from router.errors import SettingsInvalid, SnapshotInvalid
from router.process import renew_in_child
from router.snapshot.cached_encoder import with_request_cache
from router.snapshot.overlay import Overlay
from router.snapshot.overlay.layering import apply_overlay
from router.snapshot.overlay.storage import load_overlay, save_overlay
from router.snapshot.snapshot import Snapshot, resolve

_logger = logging.getLogger("router")
_LONGEST_WATCH = 86_400  # a day
_LONGEST_PAUSE = 64  # looks between two tries of a snapshot that was refused


class ReloadingSnapshot:
    """What a path serves, with the overlay over it. `snapshot` is the one attribute that changes, and it changes whole.

    A request reads `snapshot` once and asks nothing else, so that its answer is of one snapshot. No lock is on its
    way. The old snapshot, with its mappings, goes with the last request that holds it.
    """

    def __init__(self, snapshot: Snapshot, path: Path | None = None, request_cache: int = 0) -> None:
        self.snapshot = self._base = snapshot
        self._path = path or snapshot.folder  # None in memory: nothing is read anew
        self._request_cache = request_cache
        self._changing = threading.Lock()
        renew_in_child(self, "_changing")
        self._seen: object = None
        self._refused: object = None
        self._pause = self._failures = 0
        self._every: float | None = None
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    @classmethod
    def open(
        cls, path: Path, *, watch: float | None = None, request_cache: int = 0, overlay: Path | None = None
    ) -> "ReloadingSnapshot":
        """Open what a path serves; with `watch`, look every so many seconds whether it serves another. `overlay` is a
        file that `save` wrote, of tools to be over it.

        Raises SnapshotInvalid, and SettingsInvalid for a setting out of its range.
        """
        if watch is not None and (
            isinstance(watch, bool) or not isinstance(watch, int | float) or not 0 < watch <= _LONGEST_WATCH
        ):
            raise SettingsInvalid(f"watch is {watch!r}, it must be seconds above 0, up to {_LONGEST_WATCH:,}, or None")
        checked_request_cache(request_cache)
        path = path.absolute()  # the process may go to another folder
        seen = _pointer(path)  # before what it leads to is opened: a publication in between is then found
        live = cls(with_request_cache(_open(_folder(path)), request_cache), path, request_cache)
        live._seen = seen
        if overlay is not None:
            saved = load_overlay(overlay)
            live.change(lambda _: saved)
        if watch is not None:
            live._every = watch
            live._start()
            _watching.add(live)
        return live

    def reload(self) -> bool:
        """Serve what the path serves now; whether that is another snapshot. In memory there is none.

        It is opened and verified before it takes the place of the old one, and shares its encoder where they are the
        same. Raises SnapshotInvalid where it cannot be opened: then the old one serves on.
        """
        if self._path is None:
            return False
        with self._changing:
            before, folder = self._base, _folder(self._path)
            if before.folder is not None and folder == before.folder.resolve():
                return False
            after = _open(folder, before)
            kept = after.encoder is before.encoder  # with its cache
            self._serve(after if kept else with_request_cache(after, self._request_cache), self.overlay)
        _logger.info("%s: %s serves, after %s", self._path, after.manifest.snapshot, before.manifest.snapshot)
        return True

    @property
    def overlay(self) -> Overlay:
        """What lies over the snapshot, without what the snapshot has unchanged."""
        return self.snapshot.overlay

    def change(self, change: Callable[[Overlay], Overlay]) -> Overlay:
        """Serve with another overlay, made of the one that serves, and return it. Changes wait for each other and for
        a reload, requests for none of them; where one fails, all is as it was."""
        with self._changing:
            self._serve(self._base, change(self.overlay))
            return self.overlay

    def save(self, path: Path) -> None:
        """Write the overlay to a file, whole or not at all, for `open`. Raises OSError where that cannot be done."""
        save_overlay(self.overlay, path)

    def _serve(self, base: Snapshot, overlay: Overlay) -> None:
        self.snapshot = apply_overlay(base, overlay, self.snapshot)
        self._base = base

    def look(self) -> None:
        """Reload where another snapshot was published since the last look.

        One that is refused is warned of once and tried again, ever more seldom: it may still be on its way, or the
        disk may have failed for a moment.
        """
        if self._path is None or (pointer := _pointer(self._path)) == self._seen:
            return
        if pointer == self._refused and self._pause:
            self._pause -= 1
            return
        try:
            self.reload()
        except SnapshotInvalid as error:
            self._failures = self._failures + 1 if pointer == self._refused else 0
            self._pause = min(2**self._failures, _LONGEST_PAUSE)
            if pointer != self._refused:
                self._refused = pointer
                serving = self.snapshot.manifest.snapshot
                _logger.warning("%s: the new snapshot was refused, %s goes on serving: %s", self._path, serving, error)
        else:
            self._seen, self._refused = pointer, None

    def close(self) -> None:
        """End the thread that looks, and wait for it."""
        self._ended.set()
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join()
        _watching.discard(self)

    def _start(self) -> None:
        self._ended = threading.Event()
        weakref.finalize(self, self._ended.set)
        arguments = (weakref.ref(self), self._every, self._ended)
        self._watcher = threading.Thread(target=_watch, args=arguments, name="quartermaster-watch", daemon=True)
        self._watcher.start()

    def _start_in_child(self) -> None:
        self._start()


def _watch(watched: "weakref.ref[ReloadingSnapshot]", every: float, ended: threading.Event) -> None:
    """Look until closed, or until nobody else holds what is looked at."""
    while not ended.wait(every):
        live = watched()
        if live is None:
            return
        try:
            live.look()
        except Exception:  # a thread that died here would leave the old snapshot serving for good, unsaid
            _logger.exception("%s: looking for a new snapshot failed", live._path)
        del live


def _watch_in_child() -> None:
    for live in list(_watching):
        live._start_in_child()


# A forked child has its parent's routers without their threads.
_watching: "weakref.WeakSet[ReloadingSnapshot]" = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch_in_child)


def checked_request_cache(request_cache: int) -> int:
    """Return how many requests' vectors are kept. Raises SettingsInvalid for what is no such number."""
    if isinstance(request_cache, bool) or not isinstance(request_cache, int) or request_cache < 0:
        raise SettingsInvalid(f"request_cache is {request_cache!r}, it must be a number of requests, 0 for none")
    return request_cache


def _folder(path: Path) -> Path:
    """The real folder: a link that is set anew while it is read would give files of two snapshots."""
    return resolve(path).resolve()


def _open(folder: Path, before: Snapshot | None = None) -> Snapshot:
    try:
        return Snapshot.open(folder, before=before)
    except (OSError, ValueError) as error:  # removed, or cut short, while it was opened
        raise SnapshotInvalid(f"{folder} cannot be opened: {error}") from error


def _pointer(path: Path) -> tuple[str, str, int]:
    """What a publication changes: where the path leads, what CURRENT says, and since when. Two small reads."""
    current = path / CURRENT
    try:
        # Of one opened file: what it says and since when would else be those of two publications.
        with current.open(encoding="utf-8") as opened:
            return str(path.resolve()), opened.read(), os.fstat(opened.fileno()).st_mtime_ns
    except (OSError, UnicodeDecodeError) as error:
        return str(path.resolve()), str(error), 0
