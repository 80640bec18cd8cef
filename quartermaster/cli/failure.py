"""How the command line reports a failure: a sentence on standard error, and one JSON object where `--json` asks."""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import pairwise, takewhile
from typing import Any

import typer

from pipeline.errors import RunAborted
from pipeline.failure import Failure, attached
from quartermaster.output.logs import FORMAT_VARIABLE, LogFormat, log_failure
from quartermaster.output.terminal import json_text, plain_lines
from router.distribution import PACKAGES, install_command

TRACEBACK_VARIABLE = "QUARTERMASTER_TRACEBACK"
BROKEN_PIPE = 141  # 128 + SIGPIPE: the reader of the output has ended
# typer has a click of its own in newer versions, and imports click in older ones.
USAGE_ERROR: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_EXTRAS = {
    **dict.fromkeys(("torch", "sentence_transformers", "transformers"), "models"),
    **dict.fromkeys(("jinja2", "matplotlib"), "evaluation"),
}


class ServerLost(RunAborted):
    """Prefect's server does not answer. At its end the process would try for minutes to send what it still has."""


def failure_of(error: BaseException, arguments: Sequence[str]) -> Failure:
    """Return what an error stands for. `arguments` are those of the command line."""
    if isinstance(error, USAGE_ERROR):
        return Failure("usage", error.format_message(), error.exit_code)  # type: ignore[attr-defined]
    if isinstance(error, ModuleNotFoundError):
        name = (error.name or "").partition(".")[0]
        if name and name not in PACKAGES:
            return Failure("not_installed", f"this needs {name}: {install_command(_extra_of(name, arguments))}", 2)
    if isinstance(error, typer.Abort):
        return Failure("interrupted", "aborted", 130)
    return Failure.of(error)


def report_failure(error: BaseException, arguments: Sequence[str]) -> int:
    """Print what went wrong, and return the exit code."""
    failure = failure_of(error, arguments)
    run = attached(error)
    if run is not None:
        failure = replace(failure, message=run.redact(failure.message))
    as_json = _prints_json(arguments)
    if as_json:
        facts: dict[str, Any] = run.identity() if run is not None else {"catalog": None, "run": None}
        first = {"outcome": "failed", **facts} if _command(arguments) == "build" else {}
        _print(json_text({**first, "error": asdict(failure)}), sys.stdout)
    traced = failure.kind == "unforeseen" and bool(os.environ.get(TRACEBACK_VARIABLE))
    if _logs_json(arguments):
        if run is None or traced:  # else the run's log has it
            with suppress(OSError, ValueError):
                log_failure(failure.message, failure.exit_code, error if traced else None)
    elif traced:
        with suppress(OSError):
            traceback.print_exception(error)
    elif isinstance(error, USAGE_ERROR) and not as_json:
        error.show()  # type: ignore[attr-defined]  # with the usage above it
    elif failure.kind != "interrupted":  # who pressed Ctrl-C knows
        # It may quote a catalog, a server or a database: data, never a command to the terminal.
        message = plain_lines(failure.message).plain
        if failure.kind == "unforeseen":
            message = f"unforeseen error: {message}; {TRACEBACK_VARIABLE}=1 prints where it arose"
        _print(f"quartermaster: {message}", sys.stderr)
    return failure.exit_code


def _prints_json(arguments: Sequence[str]) -> bool:
    """Return whether a command was asked to print JSON on standard output."""
    options = list(takewhile(lambda argument: argument != "--", arguments))
    if _command(options) in ("evaluate", "compare"):  # their --json names a file, and "-" is standard output
        return "--json=-" in options or ("--json", "-") in pairwise(options)
    return "--json" in options


def _logs_json(arguments: Sequence[str]) -> bool:
    """Return whether a build's log is written as JSON. Its options may be what is wrong: they are not parsed yet."""
    given = re.findall(r"--log-format[= ](\S+)", " ".join(arguments)) or [os.environ.get(FORMAT_VARIABLE)]
    return _command(arguments) == "build" and given[-1] == LogFormat.JSON


def _command(arguments: Sequence[str]) -> str:
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def _print(line: str, stream: Any) -> None:
    """Print a line. Its reader may have ended: the exit code remains."""
    with suppress(OSError, ValueError):
        print(line, file=stream, flush=True)


def _extra_of(module: str, arguments: Sequence[str]) -> str:
    """Return the extra that installs a module. For a build that lacks duckdb it is "build", not "inspect"."""
    command = _command(arguments)
    if module in ("prefect", "httpx"):  # the second comes with the first
        return "flows"
    if command == "serve":
        return "serve"
    return _EXTRAS.get(module, "inspect" if module == "duckdb" and command == "inspect" else "build")
