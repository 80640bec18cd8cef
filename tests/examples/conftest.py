"""What the tests of the examples share: a copy of a program, run as its user would."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.places import ROOT

EXAMPLES = ROOT / "examples"
Run = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that programs run in; it holds what was copied there, and nothing else."""
    folder = tmp_path / "copied"
    folder.mkdir()
    return folder


@pytest.fixture
def copied(folder: Path) -> Callable[[str], Path]:
    """Copy an example out of the repository, a file or a folder, and return the copy."""

    def copy(name: str) -> Path:
        source = EXAMPLES / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        return folder / name

    return copy


@pytest.fixture
def run(folder: Path, copied: Callable[[str], Path], tmp_path: Path) -> Run:
    """Copy an example if it is not there yet, run it, and return what it prints.

    It must end as `returns` says, and warn of nothing. A file stands where its user's exported encoders would lie, so
    tools in memory are found by words alone: what it prints does not change with the encoder's weights. `ignoring` is a
    warning of the framework itself, as `python -W` takes it.
    """

    def run(program: str, *arguments: str, returns: int = 0, ignoring: str | None = None, **variables: str) -> str:
        if not (folder / program).exists():
            copied(Path(program).parts[0])
        (tmp_path / "cache").touch()
        environment = {"PYTHONPATH": str(ROOT), "QUARTERMASTER_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-W", "error", *(["-W", ignoring] if ignoring else []), program, *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, **environment, **variables},
        )
        assert done.returncode == returns, done.stderr or done.stdout
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout or done.stderr

    return run
