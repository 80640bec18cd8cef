"""Every command and example of the README that is marked to run, runs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.enrichment.model_server import ModelServer
from tests.router.adapters.agent_model import call_the_first_tool
from tests.support.command_line import Done, called, started
from tests.support.places import ROOT
from tests.support.readme import README, commands, examples

COMMANDS = {"build", "search", "explain", "evaluate", "compare", "inspect", "snapshots"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with the catalogs in it, where the README's commands are run one after the other."""
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "catalogs").symlink_to(ROOT / "catalogs")
    (folder / "openapi.yaml").symlink_to(ROOT / "catalogs" / "demo" / "payments.openapi.yaml")
    return folder


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(arguments, capture_output=True, text=True, cwd=folder, env=environment)


def quartermaster(folder: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the README, which must end well, say something, and warn of nothing."""
    program, *arguments = shlex.split(command)
    assert program == "quartermaster"
    # Prefect's settings are those of its process; the others need not import what this one has.
    run_it: Callable[..., Done] = started if "--flow" in arguments else called
    done = run_it(folder, *arguments, **variables)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert done.stdout.strip(), command
    return done


def exampled(folder: Path, written: list[str], **variables: str) -> list[str]:
    """What each of some examples prints, which must end well and warn of nothing; in one process, for its imports."""
    program = (
        "import contextlib, io, json, sys\n"
        "for example in json.load(sys.stdin):\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as said:\n"
        "        exec(example, {'__name__': '__main__'})\n"
        "    print(json.dumps(said.getvalue().strip()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        input=json.dumps(written),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_readme_shows_every_command_of_the_command_line() -> None:
    from flows.cli.main import app

    shown = {shlex.split(line)[1] for line in commands()} | {shlex.split(line)[1] for line in commands("schedule")}
    by_a_person = {"login"}  # needs a browser, and a server that wants a token
    assert all(
        f"quartermaster {name}" in (ROOT / "docs" / "catalogs.md").read_text(encoding="utf-8") for name in by_a_person
    )
    registered = {str(command.callback.__name__) for command in app.registered_commands if command.callback}
    assert shown | by_a_person == registered
    assert shown == COMMANDS | {"schedule"}


def test_every_model_provider_of_the_readme_is_asked_as_it_says(folder: Path) -> None:
    exported: dict[str, str] = {}
    asked = []
    with ModelServer() as server:
        for line in commands("model"):
            if line.startswith("export "):
                exported |= dict(pair.split("=", 1) for pair in shlex.split(line)[1:])
                continue
            local = {**exported, "OPENAI_BASE_URL": server.base_url, "QUARTERMASTER_VECTORS__ENCODER": "none"}
            before = len(server.requests)
            done = called(folder, *shlex.split(line)[1:], **local)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            asked.append(server.requests[-1].body["model"] if len(server.requests) > before else None)
            # What was asked before is known: with a limit too, the model's words serve.
            if "--plan" in line:
                assert "$" in done.stdout and "to ask" in done.stdout
            elif "--max-cost" not in line:
                assert ("by lexicon" in done.stdout) == (asked[-1] is None)
    assert asked == [None, "gpt-5-mini", "Qwen/Qwen3-8B", "qwen3:8b", "qwen3", None]


def test_every_command_and_example_runs_in_order(
    folder: Path, encoder_folder: Path, prefect_home: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(prefect_home, tmp_path / "prefect")
    # A small encoder: what is tried here is the commands, and the real one takes a minute for them.
    variables = {"PREFECT_HOME": str(home), "QUARTERMASTER_VECTORS__ENCODER": str(encoder_folder)}
    for command in commands():
        done = quartermaster(folder, command, **variables)
        # What is said besides the answer is the encoder's name or nothing: no warning, no traceback, no leak.
        assert not re.search(r"warn|traceback|error|leak", done.stderr, re.IGNORECASE), f"{command}\n{done.stderr}"
    assert len(examples()) == 11
    for example, said in zip(examples(), exampled(folder, examples()), strict=True):
        assert bool(said) == ("print(" in example), example
    assert len(examples("agent")) == 3
    with ModelServer(call_the_first_tool) as model:
        reached = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-loopback"}
        for said in exampled(folder, examples("agent"), **reached):
            at_hand, answer = said.splitlines()
            # The model called the first tool that it was offered, and heard what that answered.
            first = re.search(r"'([^']+)'", at_hand)
            assert first and first[1] in answer.partition("It says: ")[2]


def test_the_make_targets_that_the_readme_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^)make ([a-z]+)\b", README, re.MULTILINE))
    assert named >= {"demo", "test", "lint"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_the_project_names_no_machine_path() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    for name in names:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json", ".yaml") and path.is_file():
            assert not re.search(r"/(?:home|root|Users)/\w", path.read_text(encoding="utf-8")), name
