"""Runs `quartermaster` in tests: in this process to read its output, in a new one to see it start and end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tests.support.places import ROOT

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
_MAIN = "from quartermaster.cli.main import main; main()"


def called(folder: Path, *arguments: object, **variables: str) -> Done:
    """Run the command line in this process, in a folder, on a terminal of 120 columns unless COLUMNS differs.

    A new process would take a second for its imports.
    """
    from quartermaster.cli.main import main
    from quartermaster.output import terminal

    line = ["quartermaster", *map(str, arguments)]
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err), _restored_signals():
        patch.chdir(folder)
        patch.setattr(sys, "argv", line)
        for name, value in variables.items():
            patch.setenv(name, value)
        for console in (terminal.out, terminal.err):  # created once, as wide as the terminal was then
            patch.setattr(console, "width", int(variables.get("COLUMNS", "120")))
        code: int | str | None = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert code is None or isinstance(code, int), code
    return Done(line, code or 0, out.getvalue(), err.getvalue())


def started(folder: Path, *arguments: object, without: tuple[str, ...] = (), **variables: str) -> Done:
    """Run the command line in a folder as a new process, which cannot import the modules named in `without`."""
    code = f"import sys; sys.modules.update(dict.fromkeys({list(without)!r})); {_MAIN}"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **variables},
    )


@contextmanager
def _restored_signals() -> Iterator[None]:
    """Restore the signal handlers that `main` sets."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
