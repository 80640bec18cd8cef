"""The hooks of a commit: valid, and run from the environment that `make test` makes."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.places import ROOT

CONFIG = ROOT / ".pre-commit-config.yaml"
HOOKS = [hook for repo in yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["repos"] for hook in repo["hooks"]]


def test_the_configuration_is_valid() -> None:
    done = subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", CONFIG], capture_output=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_a_hook_is_a_program_of_the_environment_and_downloads_nothing(hook: dict[str, str]) -> None:
    folder, _, program = hook["entry"].split()[0].rpartition("/")
    assert (hook["language"], folder) == ("system", ".venv/bin")
    assert (Path(sys.executable).parent / program).is_file()
