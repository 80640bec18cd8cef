"""Exit codes and JSON of commands that fail: no error shares its code with "held"."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipeline.errors import RunAborted
from tests.support.command_line import Done, called
from tests.support.places import ROOT


class PanicException(BaseException):
    """What Rust's panics are in Python: no Exception."""


def recurse() -> None:
    """Call itself for ever."""
    recurse()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Done]:
    """Call `quartermaster` in an empty folder."""
    return partial(called, tmp_path)


def raising(error: Callable[[], BaseException]) -> Callable[..., None]:
    """A function that raises a new error: one that is kept would hold the frames that it passed."""

    def fail(*_: object, **__: object) -> None:
        raise error()

    return fail


COMMANDS = {
    "search": ("flows.cli.commands.arguments.Router.open", ["search", "refund", "--json"]),
    "explain": ("flows.cli.commands.arguments.Router.open", ["explain", "refund", "--json"]),
    "inspect": ("pipeline.inspection.reading.Inspection.open", ["inspect", "--json"]),
    "snapshots": ("flows.output.snapshots.show_snapshots", ["snapshots", "--json"]),
    "build": ("pipeline.build.run.run_stages", ["build", "{catalog}", "--encoder", "none", "--json"]),
    "evaluate": ("flows.cli.commands.benches.build_bench", ["evaluate", "--bench", "{catalog}", "--json", "-"]),
    "compare": ("flows.cli.commands.benches.build_bench", ["compare", "--bench", "{catalog}", "--json=-"]),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (lambda: ZeroDivisionError("x"), "unforeseen", 70),
        (MemoryError, "unforeseen", 70),
        (lambda: PanicException("index out of bounds"), "unforeseen", 70),
        (lambda: SystemExit(1), "unforeseen", 70),
        (EOFError, "unforeseen", 70),
        (lambda: ExceptionGroup("tasks", [RunAborted("no server")]), "run_aborted", 3),
        (lambda: BaseExceptionGroup("tasks", [KeyboardInterrupt()]), "interrupted", 130),
        (KeyboardInterrupt, "interrupted", 130),
    ],
)
def test_every_error_of_every_command_is_one_json_object_with_a_code_of_its_own(
    run: Callable[..., Done],
    workspace: Path,
    catalog_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    error: Callable[[], BaseException],
    kind: str,
    code: int,
) -> None:
    place, arguments = COMMANDS[command]
    monkeypatch.setattr(place, raising(error))
    monkeypatch.setattr("flows.cli.commands.benches.read_bench", lambda folder: type("B", (), {"folder": folder})())
    if command in ("search", "explain", "inspect", "snapshots"):
        arguments = [*arguments, "--workspace", str(workspace)]
    done = run(*(argument.format(catalog=catalog_folder) for argument in arguments))
    said = json.loads(done.stdout)
    assert (done.returncode, said["error"]["kind"], said["error"]["exit_code"]) == (code, kind, code), done.stderr
    assert "Traceback" not in done.stderr
    assert said.get("outcome") == ("failed" if command == "build" else None)


def test_a_stack_that_is_too_deep_and_a_full_disk_are_sentences(
    run: Callable[..., Done], catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("build", catalog_folder, "--encoder", "none")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/ledger.duckdb")
    monkeypatch.setattr("pipeline.build.run.run_stages", lambda *_: recurse())
    assert run(*arguments).returncode == 70
    monkeypatch.setattr("pipeline.settings.load", raising(lambda: full))
    done = run(*arguments)
    assert done.returncode == 3
    assert done.stderr.endswith(
        "quartermaster: the disk is full: /data/ledger.duckdb could not be written. Free some space and run it again\n"
    )


def test_the_traceback_of_an_unforeseen_error_is_in_the_log_as_json_too(
    run: Callable[..., Done], catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.build.run.run_stages", raising(lambda: ZeroDivisionError("by nothing")))
    done = run("build", catalog_folder, "--log-format", "json", QUARTERMASTER_TRACEBACK="1")
    (last,) = [record for record in map(json.loads, done.stderr.splitlines()) if record["event"] == "exit"]
    assert last["exit_code"] == 70 and "ZeroDivisionError: by nothing" in last["traceback"]


def test_wrong_arguments_are_json_too(run: Callable[..., Done]) -> None:
    for arguments in (["build", "--nope", "--json"], ["search", "--json"], ["compare", "--json", "-"]):
        done = run(*arguments)
        assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (2, "usage"), arguments
    assert run("search").stdout == ""
    assert run("search", "--", "--json", "--workspace").stdout == ""  # a request, no option


def process(folder: Path, *arguments: object, path: Path = ROOT, stdout: int = subprocess.PIPE) -> Done:
    """Run the command line as `python -m quartermaster`."""
    return subprocess.run(
        [sys.executable, "-m", "quartermaster", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"},
    )


def test_output_that_nobody_reads_or_that_cannot_be_written_has_a_code_of_its_own(
    workspace: Path, tmp_path: Path
) -> None:
    arguments = ("snapshots", "--workspace", workspace)
    reader, writer = os.pipe()
    os.close(reader)
    unread = process(tmp_path, *arguments, stdout=writer)
    os.close(writer)
    assert (unread.returncode, unread.stderr) == (141, "")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = process(tmp_path, *arguments, stdout=full.fileno())
    assert done.returncode == 3 and "No space left" in done.stderr and "Traceback" not in done.stderr


def test_a_build_whose_log_nobody_reads_goes_on(catalog_folder: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "quartermaster", "build", str(catalog_folder), "--encoder", "none", "--json"],
        stdout=subprocess.PIPE,
        stderr=writer,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(writer)
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "published")


def test_a_package_that_is_broken_ends_with_70(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise RuntimeError('broken')", encoding="utf-8")
    done = process(tmp_path, "build", "x", path=tmp_path)
    assert done.returncode == 70
    assert done.stderr == "quartermaster: unforeseen error: it cannot be loaded: RuntimeError: broken\n"
