"""The command line: all commands, signals and exit codes.

Heavy modules are imported late, so that search, explain, evaluate --snapshot, compare --snapshot and snapshots work
with the light install.
"""

import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

import typer

from quartermaster.cli.commands.build import build, schedule
from quartermaster.cli.commands.evaluate import compare, evaluate
from quartermaster.cli.commands.inspect import feedback, inspect
from quartermaster.cli.commands.keys import keys, tokens
from quartermaster.cli.commands.ledger import ledger, status
from quartermaster.cli.commands.options import App
from quartermaster.cli.commands.phrases import phrases
from quartermaster.cli.commands.route import call, explain, search
from quartermaster.cli.commands.serve import http
from quartermaster.cli.commands.serve_mcp import mcp
from quartermaster.cli.commands.snapshots import pull, push, quarantine, snapshots
from quartermaster.cli.commands.sources import login
from quartermaster.cli.commands.train import train
from quartermaster.cli.failure import BROKEN_PIPE, ServerLost, report_failure
from router.distribution import version

app = App(
    """Routes an agent's request to the few tools that fit, out of thousands.

    Offline, `build` reads tool catalogs, has a model write how people ask for each tool, and publishes a snapshot of
    three BM25 indexes and vectors. Online, `search` and `explain` (and `router` in Python) answer from it.

    \b
    Start:
      quartermaster build catalogs/demo
      quartermaster search "refund a customer"

    Exit codes: 0 done; 1 done, but something was held back; 2 wrong arguments or settings; 3 a source, model or budget
    stopped the run; 4 a snapshot is missing, corrupt or foreign; 70 an error that was not foreseen."""
)
serve = App(
    """Serve the router to programs, and to people who want to look.

    \b
    quartermaster serve http                     HTTP with JSON, and a page at /, on this machine only
    quartermaster serve http --port 0            at a free port; the address is printed
    quartermaster serve mcp                      MCP over stdio, as clients start it; --http over HTTP at /mcp"""
)
serve.add(http)
serve.add(mcp)


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


_STOPPING = (signal.SIGINT, signal.SIGTERM)
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(build, search, explain, call, inspect, evaluate, compare),
    *(train, status, snapshots, push, pull, quarantine, feedback, schedule, login),
)
for _command in _COMMANDS:
    app.add(_command)
for _name, _group in (("serve", serve), ("ledger", ledger), ("phrases", phrases), ("keys", keys), ("tokens", tokens)):
    app.add_typer(_group, name=_name)


def main() -> None:
    """Run the command line. An error prints one sentence and sets its exit code.

    Unforeseen errors exit with 70; QUARTERMASTER_TRACEBACK=1 prints their traceback.
    """
    # These signals stop a service or a container: the processes that were started end first.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    sys.exit(_run(sys.argv[1:]))


def _report(error: BaseException, arguments: list[str]) -> int:
    """Report what ended a command, and return the exit code. A signal waits for that, and then ends the process."""
    for number in _STOPPING * 2:  # one that came before may still interrupt the first round
        with suppress(KeyboardInterrupt, SystemExit):
            signal.signal(number, signal.SIG_IGN)
    code = report_failure(error, arguments)
    for number in _STOPPING:
        signal.signal(number, signal.SIG_DFL)
    return code


def _run(arguments: list[str]) -> int:
    """Run one command, and return its exit code."""
    try:
        # Not app(): it ends with 1 where the output was not read, and 1 means that something was held back.
        command, code = typer.main.get_command(app), 0
        try:
            with command.make_context("quartermaster", arguments) as context:
                command.invoke(context)
        except typer.Exit as end:
            code = end.exit_code
        sys.stdout.flush()  # at the end of the process an error would be a warning, and its code 120
        return code
    except BrokenPipeError as error:
        return BROKEN_PIPE if _is_unread() else _report(error, arguments)
    except ServerLost as error:
        os._exit(_report(error, arguments))
    except BaseException as error:  # noqa: BLE001 - Rust's panics are no Exception, and each error has an exit code
        return _report(error, arguments)


def _is_unread() -> bool:
    """Return whether the reader of standard output has ended. What is left of it goes nowhere."""
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # no file
        return False
    watch = select.poll()
    watch.register(output, 0)
    if not any(event & select.POLLERR for _, event in watch.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True


def _stop(number: int, _: object) -> None:
    sys.exit(128 + number)
