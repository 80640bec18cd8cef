"""The command line: all commands, signals and exit codes.

Heavy modules are imported late, so that search, explain, evaluate --snapshot, compare --snapshot and snapshots work
with the light install.
"""

import os
import signal
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from flows.cli.commands.build import build, schedule
from flows.cli.commands.compare import compare
from flows.cli.commands.evaluate import evaluate
from flows.cli.commands.inspect import inspect
from flows.cli.commands.ledger import ledger
from flows.cli.commands.login import login
from flows.cli.commands.route import explain, search
from flows.cli.commands.serve import serve
from flows.cli.commands.snapshots import snapshots
from router.distribution import install_command, version
from router.errors import QuartermasterError

_TRACEBACK = "QUARTERMASTER_TRACEBACK"
_UNFORESEEN_EXIT = 70  # EX_SOFTWARE of sysexits.h

app = typer.Typer(
    help="""Routes an agent's request to the few tools that fit, out of thousands.

    Offline, `build` reads tool catalogs, has a model write how people ask for each tool, and publishes a snapshot of
    three BM25 indexes and vectors. Online, `search` and `explain` (and `router` in Python) answer from it.

    \b
    Start:
      quartermaster build catalogs/demo
      quartermaster search "refund a customer"

    Exit codes: 0 done; 1 done, but something was held back; 2 wrong arguments or settings; 3 a source, model or budget
    stopped the run; 4 a snapshot is missing, corrupt or foreign; 70 an error that was not foreseen.""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version())
        raise typer.Exit


@app.callback()
def _quartermaster(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


for _command in (build, search, explain, inspect, evaluate, compare, snapshots, schedule, login):
    app.command()(_command)
app.add_typer(serve, name="serve")
app.add_typer(ledger, name="ledger")


def main() -> None:
    """Run the command line. An error prints one sentence and sets its exit code.

    Unforeseen errors exit with 70; QUARTERMASTER_TRACEBACK=1 prints their traceback.
    """
    # These signals stop a service or a container: the processes that were started end first.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    try:
        app()
    except QuartermasterError as error:
        from flows.output.terminal import plain_text

        # It may quote a catalog, a server or a database: data, never a command to the terminal.
        print(f"quartermaster: {plain_text(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("router", "pipeline", "flows", "quartermaster"):
            _exit_unforeseen(error)
        print(f"quartermaster: this needs {name}: {install_command(_extra_of(name))}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:  # noqa: BLE001 - any other error has an exit code of its own
        _exit_unforeseen(error)


def _exit_unforeseen(error: Exception) -> NoReturn:
    if os.environ.get(_TRACEBACK):
        traceback.print_exception(error)
    else:
        from flows.output.terminal import plain_text

        reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        print(
            f"quartermaster: unforeseen error: {plain_text(reason)}; {_TRACEBACK}=1 prints where it arose",
            file=sys.stderr,
        )
    sys.exit(_UNFORESEEN_EXIT)


def _stop(number: int, _: object) -> None:
    sys.exit(128 + number)


def _extra_of(module: str) -> str:
    """Return the extra that installs a module. For a build that lacks duckdb it is "build", not "inspect"."""
    if module == "prefect":
        return "flows"
    if sys.argv[1:2] == ["serve"]:
        return "serve"
    if module in ("torch", "sentence_transformers", "transformers"):
        return "models"
    if module in ("jinja2", "matplotlib"):
        return "evaluation"
    return "inspect" if module == "duckdb" and sys.argv[1:2] == ["inspect"] else "build"
