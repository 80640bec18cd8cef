"""Every command and example of the README that is marked to run, run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MARKED = re.findall(r"<!-- run -->\n```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line for kind, block in MARKED if kind == "sh" for line in block.splitlines() if line]
EXAMPLES = [block for kind, block in MARKED if kind == "python"]


def test_the_readme_has_what_is_to_be_run() -> None:
    assert {shlex.split(command)[1] for command in COMMANDS} == {"build", "search", "explain", "evaluate", "snapshots"}
    assert len(EXAMPLES) == 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with the catalogs in it, where the README's commands are run one after the other."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "catalogs").symlink_to(ROOT / "catalogs")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("QUARTERMASTER_", "OPENAI_"))}
    environment |= {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(arguments, capture_output=True, text=True, cwd=folder, env=environment)


def test_every_command_and_example_runs_in_order(folder: Path) -> None:
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "quartermaster"
        done = run(folder, sys.executable, "-c", "from flows.cli import main; main()", *arguments)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout.strip(), command
    for example in EXAMPLES:
        done = run(folder, sys.executable, "-W", "error", "-c", example)
        assert done.returncode == 0, done.stderr
        assert "stripe" in done.stdout


def test_the_make_targets_that_the_readme_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z]+)\b", README))
    assert named >= {"demo", "test", "lint"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_the_project_names_no_machine_path() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    for name in names:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json", ".yaml") and path.is_file():
            assert not re.search(r"/(?:home|root|Users)/\w", path.read_text(encoding="utf-8")), name
