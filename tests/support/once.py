"""What takes seconds to make and is the same for every test: made by the first who asks, and kept over runs."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object], keep: Path | None = None
) -> Path:
    """The folder that `make` fills, to be read or copied: of this run, or in `keep`, where the next run finds it too.

    Where making it failed, the next who asks makes it.
    """
    base = factory.getbasetemp()
    # A worker's own base lies in the run's.
    shared = keep or (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
    folder, whole = shared / name, shared / f"{name}.whole"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            whole.touch()
    return folder


def kept_folder(config: pytest.Config, name: str, files: Iterable[Path], *versions: str) -> Path:
    """A folder in pytest's cache for what some source files and versions make; of this run where there is no cache."""
    digest = hashlib.sha256("\0".join([*versions, *(file.read_text(encoding="utf-8") for file in files)]).encode())
    if cache := getattr(config, "cache", None):  # none under -p no:cacheprovider
        return Path(cache.mkdir(f"{name}-{digest.hexdigest()[:12]}"))
    folder = TemporaryDirectory(prefix=f"quartermaster-{name}-")
    config.add_cleanup(folder.cleanup)
    return Path(folder.name)
