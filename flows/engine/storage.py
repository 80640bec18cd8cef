"""The folder that a build shares with its workers: one subfolder a build, locked by the process that builds.

A build that was killed leaves its subfolder, and its lock is free: the next build removes it. Files are named by
their content, or at random by the worker that writes them, so a batch may be done twice.
"""

import fcntl
import hashlib
import pickle
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from socket import gethostname
from typing import IO, Any
from uuid import uuid4

from pipeline.errors import SettingsInvalid
from router.distribution import version

_BUILDS, _LOCK = "builds", "lock"
_INLINE_BYTES = 1 << 16
_UNLOCKED_S = 3600.0  # a folder without a lock is being made, or its maker was killed meanwhile


@dataclass(frozen=True, slots=True)
class SharedValues:
    """Values that all batches of a stage need, pickled: in a file of the storage, or here where they are small."""

    content: Path | bytes

    def open(self) -> tuple[Any, ...]:
        """Return the values. A process reads a file once. Raises SettingsInvalid where it does not see it."""
        if isinstance(self.content, bytes):
            return _loaded(self.content)
        return _opened(self.content)


@contextmanager
def build_folder(root: Path) -> Iterator[Path]:
    """Yield a folder for one build, which is removed at the end, after those of builds that were killed.

    Raises SettingsInvalid where nothing can be written into `root`.
    """
    builds = root / _BUILDS
    folder = builds / uuid4().hex
    try:
        builds.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(builds)
        folder.mkdir()
        lock = _locked(folder)
    except OSError as error:
        raise SettingsInvalid(f"flow.storage: {root} cannot be written ({error.strerror}): choose another") from error
    try:
        with lock:
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a worker may be writing into it: the next build removes the rest


def share(folder: Path, values: tuple[Any, ...]) -> SharedValues:
    """Return values as workers take them, written into a file of `folder` unless they are small or were before."""
    content = pickle.dumps(values, protocol=pickle.HIGHEST_PROTOCOL)
    if len(content) <= _INLINE_BYTES:
        return SharedValues(content)
    path = folder / f"{hashlib.sha256(content).hexdigest()}.pickle"
    if not path.exists():
        hidden = path.with_suffix(f".{uuid4().hex}")
        hidden.write_bytes(content)
        hidden.rename(path)
    return SharedValues(path)


def probe(path: Path) -> tuple[str, str]:
    """Return the worker's host and version.

    Raises SettingsInvalid where it does not see a file of the storage, or may write none beside it.
    """
    _read(path)
    written = path.with_name(f"{path.name}-{uuid4().hex}")
    try:
        written.touch()
        written.unlink()
    except OSError as error:
        raise SettingsInvalid(
            f"flow.storage: the worker on {gethostname()} cannot write into {path.parent} ({error.strerror}): let it"
        ) from error
    return gethostname(), version()


def _locked(folder: Path) -> IO[str]:
    """Return a folder's lock file, locked. It gets its name last: a lock file that is free is of a build that ended."""
    hidden = folder / f".{_LOCK}"
    lock = hidden.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hidden.rename(folder / _LOCK)
    except OSError:
        lock.close()
        raise
    return lock


def _remove_abandoned(builds: Path) -> None:
    """Remove the folders of builds whose process is gone."""
    for folder in builds.iterdir():
        with suppress(OSError):  # removed by another build in this moment, or in use
            if not (folder / _LOCK).exists():
                if time.time() - folder.stat().st_mtime > _UNLOCKED_S:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            with (folder / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def _loaded(content: bytes) -> tuple[Any, ...]:
    values: tuple[Any, ...] = pickle.loads(content)  # noqa: S301 - who writes here runs code anyway: SECURITY.md
    return values


@lru_cache(maxsize=2)
def _opened(path: Path) -> tuple[Any, ...]:
    return _loaded(_read(path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsInvalid(
            f"flow.storage: the worker on {gethostname()} cannot read {path} ({error.strerror}): name a folder that "
            "the build and all workers see under the same path"
        ) from error
