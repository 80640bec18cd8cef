"""Type checkers take what users write for each framework."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("typed_programs.py")


@pytest.mark.nightly
def test_mypy_takes_the_programs_of_all_frameworks_in_its_strict_mode(tmp_path: Path) -> None:
    root = PROGRAMS.parents[3]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(PROGRAMS)]
    checked = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
