"""Exit codes and JSON of commands that fail: no error shares its code with "held"."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.errors import RunAborted
from quartermaster.cli.failure import failure_of
from router.distribution import install_command
from tests.support.command_line import Done, Run
from tests.support.places import ROOT


class PanicException(BaseException):
    """What Rust's panics are in Python: no Exception."""


def recurse() -> None:
    """Call itself for ever."""
    recurse()


def raising(error: Callable[[], BaseException]) -> Callable[..., None]:
    """A function that raises a new error: one that is kept would hold the frames that it passed."""

    def fail(*_: object, **__: object) -> None:
        raise error()

    return fail


BUILD = ("pipeline.build.run.run_stages", ["build", "{catalog}", "--encoder", "none", "--json"])
SEARCH = (
    "quartermaster.cli.commands.options.Router.open",
    ["search", "refund", "--json", "--workspace", "{workspace}"],
)
COMMANDS = {
    "search": SEARCH,
    "explain": (SEARCH[0], ["explain", *SEARCH[1][1:]]),
    "inspect": ("pipeline.inspection.reading.Inspection.open", ["inspect", *SEARCH[1][2:]]),
    "snapshots": ("quartermaster.output.snapshots.show_snapshots", ["snapshots", *SEARCH[1][2:]]),
    "build": BUILD,
    "evaluate": ("quartermaster.cli.commands.benches.build_bench", ["evaluate", "--bench", "{catalog}", "--json", "-"]),
    "compare": ("quartermaster.cli.commands.benches.build_bench", ["compare", "--bench", "{catalog}", "--json=-"]),
}
ERRORS: dict[str, tuple[Callable[[], BaseException], str, int]] = {
    "unforeseen": (lambda: ZeroDivisionError("x"), "unforeseen", 70),
    "memory": (MemoryError, "unforeseen", 70),
    "panic": (lambda: PanicException("index out of bounds"), "unforeseen", 70),
    "exit": (lambda: SystemExit(1), "unforeseen", 70),
    "end-of-file": (EOFError, "unforeseen", 70),
    "group": (lambda: ExceptionGroup("tasks", [RunAborted("no server")]), "run_aborted", 3),
    "interrupted-group": (lambda: BaseExceptionGroup("tasks", [KeyboardInterrupt()]), "interrupted", 130),
    "interrupted": (KeyboardInterrupt, "interrupted", 130),
}


@pytest.mark.parametrize(
    ("command", "error"),
    [*((command, "panic") for command in COMMANDS), *(("search", error) for error in ERRORS), ("build", "interrupted")],
)
def test_every_error_of_every_command_is_one_json_object_with_a_code_of_its_own(
    run: Run, workspace: Path, catalog_folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, error: str
) -> None:
    (place, arguments), (raised, kind, code) = COMMANDS[command], ERRORS[error]
    monkeypatch.setattr(place, raising(raised))
    bench = SimpleNamespace(folder=catalog_folder, judgements=())
    monkeypatch.setattr("quartermaster.cli.commands.benches.read_bench", lambda _: bench)
    done = run(*(argument.format(catalog=catalog_folder, workspace=workspace) for argument in arguments))
    said = json.loads(done.stdout)
    assert (done.returncode, said["error"]["kind"], said["error"]["exit_code"]) == (code, kind, code), done.stderr
    assert "Traceback" not in done.stderr
    assert said.get("outcome") == ("failed" if command == "build" else None)


def test_an_error_that_was_not_foreseen_is_a_line_and_its_traceback_is_printed_on_demand(
    run: Run, workspace: Path, catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, trace = ("search", "refund", "--workspace", workspace), {"QUARTERMASTER_TRACEBACK": "1"}
    monkeypatch.setattr(SEARCH[0], raising(lambda: ZeroDivisionError("what\nno one \x1b[2J foresaw")))
    done = run(*search)
    assert (done.returncode, done.stdout, done.stderr) == (
        70,
        "",
        "quartermaster: unforeseen error: ZeroDivisionError: what no one \ufffd[2J foresaw; "
        "QUARTERMASTER_TRACEBACK=1 prints where it arose\n",
    )
    traced = run(*search, **trace)
    assert traced.returncode == 70 and "Traceback" in traced.stderr and "in fail" in traced.stderr
    monkeypatch.setattr(BUILD[0], raising(lambda: ZeroDivisionError("by nothing")))
    done = run("build", catalog_folder, "--log-format", "json", **trace)
    (last,) = [record for record in map(json.loads, done.stderr.splitlines()) if record["event"] == "exit"]
    assert last["exit_code"] == 70 and "ZeroDivisionError: by nothing" in last["traceback"]


def test_a_stack_that_is_too_deep_and_a_full_disk_are_sentences(
    run: Run, catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
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


@pytest.mark.parametrize("form", [[], ["--json"], ["--log-format", "json"]])
def test_a_build_that_fails_tells_no_secret_of_it(
    run: Run, catalog_folder: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    monkeypatch.setattr(BUILD[0], raising(lambda: RunAborted("the model refuses sk-s3cret-key")))
    done = run("build", catalog_folder, "--encoder", "none", *form, OPENAI_API_KEY="sk-s3cret-key")
    assert done.returncode == 3 and "the model refuses " in done.stdout + done.stderr
    assert "s3cret" not in done.stdout + done.stderr


def test_wrong_arguments_are_json_too(run: Run) -> None:
    for arguments in (["build", "--nope", "--json"], ["search", "--json"], ["compare", "--json", "-"]):
        done = run(*arguments)
        assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (2, "usage"), arguments
    assert run("search").stdout == ""
    assert run("search", "--", "--json", "--workspace").stdout == ""  # a request, no option


@pytest.mark.parametrize(
    ("arguments", "missing", "extra"),
    [
        (["inspect"], "duckdb", "inspect"),
        (["build", "x"], "duckdb", "build"),  # duckdb alone would not do
        (["build", "x"], "pyarrow", "build"),
        (["schedule", "x"], "prefect", "flows"),
        (["build", "x", "--flow"], "httpx", "flows"),
        (["serve", "http"], "uvicorn", "serve"),
        (["evaluate", "--html", "x"], "matplotlib", "evaluation"),
    ],
)
def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(
    arguments: list[str], missing: str, extra: str
) -> None:
    failure = failure_of(ModuleNotFoundError(name=f"{missing}.part"), arguments)
    assert (failure.kind, failure.exit_code) == ("not_installed", 2)
    assert failure.message == f"this needs {missing}: {install_command(extra)}"
    assert failure_of(ModuleNotFoundError(name="router.gone"), arguments).exit_code == 70


def process(
    folder: Path, *arguments: object, path: Path = ROOT, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> Done:
    """Run the command line as `python -m quartermaster`."""
    return subprocess.run(
        [sys.executable, "-m", "quartermaster", *map(str, arguments)],
        stdout=stdout,
        stderr=stderr,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"},
    )


@pytest.fixture
def unread() -> Iterator[int]:
    """A stream that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def test_output_that_nobody_reads_or_that_cannot_be_written_has_an_exit_code(
    workspace: Path, tmp_path: Path, unread: int
) -> None:
    arguments = ("snapshots", "--workspace", workspace)
    done = process(tmp_path, *arguments, stdout=unread)
    assert (done.returncode, done.stderr) == (141, "")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = process(tmp_path, *arguments, stdout=full.fileno())
    assert done.returncode == 3 and "No space left" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.nightly
def test_a_build_whose_log_nobody_reads_goes_on(catalog_folder: Path, tmp_path: Path, unread: int) -> None:
    done = process(tmp_path, "build", catalog_folder, "--encoder", "none", "--json", stderr=unread)
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "published")


def test_a_package_that_is_broken_ends_with_70(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise RuntimeError('broken')", encoding="utf-8")
    done = process(tmp_path, "build", "x", path=tmp_path)
    assert done.returncode == 70
    assert done.stderr == "quartermaster: unforeseen error: it cannot be loaded: RuntimeError: broken\n"
