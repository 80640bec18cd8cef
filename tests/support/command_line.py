"""`quartermaster` as tests run it: in this process for what it says, in one of its own for how it starts and ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tests.support.places import ROOT

Done = subprocess.CompletedProcess[str]
_MAIN = "from flows.cli.main import main; main()"


def called(folder: Path, *arguments: object, **variables: str) -> Done:
    """Call the command line in a folder; a screen of 120 columns, unless COLUMNS says otherwise. A process of its own
    takes a second to import what this one has."""
    from flows.cli.main import main
    from flows.output import screen

    line = ["quartermaster", *map(str, arguments)]
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err), _own_signals():
        patch.chdir(folder)
        patch.setattr(sys, "argv", line)
        for name, value in variables.items():
            patch.setenv(name, value)
        for console in (screen.out, screen.err):  # made once, as wide as the screen was then
            patch.setattr(console, "width", int(variables.get("COLUMNS", "120")))
        code: int | str | None = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert code is None or isinstance(code, int), code
    return Done(line, code or 0, out.getvalue(), err.getvalue())


def started(folder: Path, *arguments: object, without: tuple[str, ...] = (), **variables: str) -> Done:
    """Start the command line in a folder, as a process without the modules of these names."""
    code = f"import sys; sys.modules.update(dict.fromkeys({list(without)!r})); {_MAIN}"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **variables},
    )


@contextmanager
def _own_signals() -> Iterator[None]:
    """What `main` does about signals ends with it."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
