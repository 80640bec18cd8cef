"""What users write for each framework, as pyright checks it; mypy checks it with all other code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

PROGRAMS = ROOT / "tests" / "quartermaster" / "adapters" / "typed_programs.py"
PYRIGHT = shutil.which("pyright", path=f"{os.environ['PATH']}:{ROOT}/.venv-types/node_modules/.bin") or ""


@pytest.mark.nightly
@pytest.mark.skipif(not PYRIGHT, reason="no pyright: make test-types")
def test_the_programs_of_all_frameworks_have_no_type_errors_and_one_with_an_unknown_recipe_has(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(PROGRAMS.read_text(encoding="utf-8").replace('"lexical"', '"lexcal"'), encoding="utf-8")
    command = [PYRIGHT, "--pythonpath", sys.executable, str(PROGRAMS), str(wrong)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    assert said.count(" error: ") == 1 and "wrong.py" in said and "lexcal" in said
