"""What takes seconds to make and is the same for every test: made by the first worker that asks, for all of them."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this run that `make` fills, to be read or copied. Where it failed, the next who asks makes it."""
    base = factory.getbasetemp()
    # A worker's own base lies in the run's.
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, whole = run / name, run / f"{name}.whole"
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            whole.touch()
    return folder
