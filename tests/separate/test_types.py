"""What users write for each framework, checked by pyright as its users check it; mypy checks it with all other code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

PROGRAMS = ROOT / "tests" / "quartermaster" / "adapters" / "typed_programs.py"
PLACES = os.pathsep.join([os.environ["PATH"], str(ROOT / ".venv-types" / "node_modules" / ".bin")])
PYRIGHT = shutil.which("pyright", path=PLACES) or shutil.which("basedpyright", path=PLACES)
pytestmark = [
    pytest.mark.skipif(not PYRIGHT, reason="no pyright: make test-types"),
    pytest.mark.nightly,
    pytest.mark.timeout(300),
]


def errors(program: Path, text: str) -> str:
    """Return what pyright says of a program."""
    program.write_text(text, encoding="utf-8")
    command = [str(PYRIGHT), "--level", "error", "--pythonpath", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return done.stdout if done.returncode else ""


def test_the_programs_of_all_frameworks_have_no_type_errors_and_an_unknown_recipe_is_one(tmp_path: Path) -> None:
    text = PROGRAMS.read_text(encoding="utf-8")
    assert errors(tmp_path / "programs.py", text) == ""
    assert "lexcal" in errors(tmp_path / "wrong.py", text.replace('recipe="lexical"', 'recipe="lexcal"'))
