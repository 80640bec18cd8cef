"""Every code block of the documents runs, or says why nothing can run it here."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from http.server import BaseHTTPRequestHandler
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from pipeline.settings.catalog import CatalogSettings
from quartermaster.calling import read_call_settings
from quartermaster.serving.profiles import ProfilesFile
from router import Selection
from router.signing.trusted_keys import read_keys_file
from router.user_cache import CACHE_VARIABLE
from tests.pipeline.enrichment.model_server import ModelServer
from tests.quartermaster.adapters.agent_model import call_the_first_tool
from tests.support.command_line import Done, called, started
from tests.support.documents import Block, blocks, commands, lines, pages
from tests.support.event_loops import own_event_loop
from tests.support.places import ROOT
from tests.support.providers.anthropic_messages import MessagesServer
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import search_then_call
from tests.support.small_encoder import vector_settings

# Held by tests of their own, beside what they need: a server, Prefect, a bucket, a framework.
ELSEWHERE = {"serve", "schedule", "prefect", "bucket", "framework"}
MARKS = {"", "model", "agent", "responses", "claude", "llama_index"}
SHOWN = {"text", "mermaid", "dockerfile", "diff"}
SHOWN |= {f"{{{directive}}}" for directive in ("toctree", "include", "eval-rst", "image", "figure", "note")}
PAGES = [
    path for path in pages() if any(not block.not_run and block.language not in SHOWN for block in blocks(page=path))
]
# Pages that take from 5 s of CPU on, and commands of the others that do.
DEAR_PAGES = {"docs/benchmarks.md", "docs/evaluation.md", "docs/past_one_machine.md", "docs/scheduling.md"}
DEAR_COMMANDS = re.compile(r"quartermaster (compare|evaluate) ")


def _each_page() -> Iterator[Any]:
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        yield pytest.param(page, id=name, marks=[pytest.mark.nightly] if name in DEAR_PAGES else [])


@pytest.fixture
def variables(page: Path, encoder_folder: Path, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of a page's commands: a small encoder, and a Prefect of their own where one runs a flow."""
    environment = {
        f"QUARTERMASTER_VECTORS__{key.upper()}": value for key, value in vector_settings(encoder_folder).items()
    }
    if any("--flow" in line for line in commands(page=page)):  # its database takes seconds to make
        home = shutil.copytree(request.getfixturevalue("prefect_home"), tmp_path / "prefect")
        environment["PREFECT_HOME"] = str(home)
    return environment


@pytest.mark.parametrize("page", list(_each_page()))
def test_every_block_of_a_page_runs(
    page: Path, reader: Path, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    leaves_out = None if pytestconfig.getoption("--nightly") else DEAR_COMMANDS
    monkeypatch.chdir(reader)
    exported: dict[str, str] = {}
    for block in blocks(page=page):
        if block.not_run is not None or block.language in SHOWN or block.mark in ELSEWHERE:
            continue
        if block.language == "sh":
            with model(block) as reached:
                for line in lines(block):
                    if leaves_out and leaves_out.match(line):
                        continue
                    run_line(reader, line, block, exported, {**variables, **exported, **reached})
        elif block.language == "python":
            with model(block) as reached, pytest.MonkeyPatch.context() as patch:
                for name, value in reached.items():
                    patch.setenv(name, value)
                if leaves_out:  # tools in memory are found by words alone: an export of all-MiniLM takes 11 s
                    patch.setenv(CACHE_VARIABLE, os.devnull)
                with warnings.catch_warnings():
                    if block.mark == "llama_index":  # reads deprecated attributes of its own models
                        warnings.simplefilter("ignore", DeprecationWarning)
                    run_python(block)
        else:
            CHECKS[block.language](block, reader)


@pytest.mark.nightly
@pytest.mark.parametrize("block", [block for mark in sorted(MARKS - {""}) for block in blocks("python", mark)], ids=str)
def test_a_block_runs_as_a_program_of_its_own_against_a_model_that_keeps_connections_open(
    block: Block, reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that reuses a connection of a closed event loop fails; one that always connects anew hides that."""
    monkeypatch.setattr(BaseHTTPRequestHandler, "protocol_version", "HTTP/1.1")
    with model(block) as reached:
        environment = {**os.environ, **reached, CACHE_VARIABLE: os.devnull, "PYTHONPATH": str(ROOT)}
        program = [sys.executable, "-c", block.text]
        done = subprocess.run(program, cwd=reader, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_a_block_that_does_not_run_says_why_and_every_mark_is_known() -> None:
    for block in blocks():
        if block.not_run is not None:
            assert len(block.not_run.split()) >= 2, f"{block}: say why it is not run"
        else:
            known = SHOWN | CHECKS.keys() | {"sh", "python", "typescript"}
            assert block.language in known, f"{block}: {block.language!r}"
            assert block.mark in MARKS | ELSEWHERE | TOML_FILES.keys(), str(block)


@contextmanager
def model(block: Block) -> Iterator[dict[str, str]]:
    """Serve the model that a block's mark asks for; yield the variables that lead to it."""
    if block.mark == "responses":
        with ResponsesServer(search_then_call) as provider:
            yield {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "sk-loopback"}
        assert provider.refused == [], str(block)
    elif block.mark == "claude":
        with MessagesServer() as messages:
            yield {"ANTHROPIC_BASE_URL": messages.base_url, "ANTHROPIC_API_KEY": "sk-loopback"}
        assert messages.refused == [], str(block)
    elif block.mark in ("model", "agent"):
        with ModelServer(call_the_first_tool) if block.mark == "agent" else ModelServer() as server:
            yield {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-loopback"}
    else:
        yield {}


def run_line(folder: Path, line: str, block: Block, exported: dict[str, str], environment: dict[str, str]) -> None:
    """Run one command, which must end well, say something, and warn of nothing; or keep what it exports."""
    if line.startswith("export "):
        exported |= dict(pair.split("=", 1) for pair in shlex.split(line)[1:])
        return
    program, *arguments = shlex.split(line)
    assert program == "quartermaster", f"{block}: mark what other programs run: {line}"
    if block.mark == "model":
        environment["QUARTERMASTER_VECTORS__ENCODER"] = "none"
    # Prefect's settings are those of its process; the others need not import what this one has.
    run: Callable[..., Done] = started if "--flow" in arguments else called
    done = run(folder, *arguments, **environment)
    assert done.returncode == 0, f"{block}: {line}\n{done.stderr}"
    assert done.stdout.strip(), f"{block}: {line}"
    assert not re.search(r"warn|traceback|error|leak", done.stderr, re.IGNORECASE), f"{block}: {line}\n{done.stderr}"


def run_python(block: Block) -> None:
    """Run an example, which must print something if it prints at all."""
    said = StringIO()
    with redirect_stdout(said), own_event_loop():
        exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})
    assert bool(said.getvalue().strip()) == ("print(" in block.text), str(block)


# Files of their own, by the kind that a mark names; the page's commands read them under these names.
TOML_FILES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "toml: selection": ("selection.toml", Selection.load),
    "toml: profiles": (
        "profiles.toml",
        lambda file: ProfilesFile.load(file, {"MONITORING_TOKEN": "token-of-the-page"}),
    ),
    "toml: keys": ("trusted.toml", read_keys_file),
    "toml: calls": ("calls.toml", lambda file: read_call_settings(file, {"STRIPE_KEY": "a-key-of-the-page"})),
    "toml: plain": ("plain.toml", lambda file: tomllib.loads(file.read_text(encoding="utf-8"))),
}


def check_toml(block: Block, folder: Path) -> None:
    """Hold a file, or a part of a catalog.toml, against its typed settings."""
    if block.mark in TOML_FILES:
        name, read = TOML_FILES[block.mark]
        (folder / name).write_text(block.text, encoding="utf-8")
        read(folder / name)
    else:
        values = tomllib.loads(block.text)
        CatalogSettings(**{"name": "page", "folder": folder, "source": [{"path": "tools.json"}], **values})


def check_sql(block: Block, folder: Path) -> None:
    """Ask the demo's inspection database each statement; it must answer, be it with no row."""
    store = folder / ".quartermaster" / "snapshots" / "demo"
    database = store / (store / "CURRENT").read_text(encoding="utf-8").strip() / "catalog.duckdb"
    with duckdb.connect(str(database), read_only=True) as connection:
        for statement in connection.extract_statements(block.text):
            assert connection.execute(statement).description, str(block)


def _parses(read: Callable[[str], Any]) -> Callable[[Block, Path], None]:
    return lambda block, _folder: read(block.text)


CHECKS: dict[str, Callable[[Block, Path], None]] = {
    "toml": check_toml,
    "sql": check_sql,
    "json": _parses(json.loads),
    "jsonl": _parses(lambda text: [json.loads(line) for line in text.splitlines()]),
    "yaml": _parses(yaml.safe_load),
}
