"""May a catalog's commands run? Asked once at a terminal; elsewhere an option has to say so."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.settings import CatalogSettings
    from pipeline.sources.transport.approval import CatalogCommand

AllowCommands = Annotated[
    bool,
    typer.Option(
        "--allow-commands",
        envvar="QUARTERMASTER_ALLOW_COMMANDS",
        help="Run the catalog's commands, also new ones; they are remembered for this user.",
    ),
]
NoCommands = Annotated[
    bool, typer.Option("--no-commands", help="Run no command: its source keeps its last known records, or is left out.")
]


def permit_commands(settings: "CatalogSettings", *, allow: bool, may_ask: bool = True) -> None:
    """Print the commands of a catalog, and ask about new ones where a person can answer.

    Raises SettingsInvalid where a new command is not allowed.
    """
    from pipeline.sources.transport.approval import approve, require_approved

    new = show_commands(settings)
    asks = new and not allow and may_ask and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and typer.confirm("Run the new ones, now and at later builds?", err=True):
        approve(new)
    require_approved(settings, allow=allow)


def show_commands(settings: "CatalogSettings") -> "tuple[CatalogCommand, ...]":
    """Print the commands of a catalog on standard error, and return those that were not allowed before."""
    from pipeline.sources.transport.approval import commands_of, not_approved
    from quartermaster.output.terminal import say

    commands = commands_of(settings)
    new = not_approved(commands)
    for command in commands:
        state, style = ("new command", "yellow") if command in new else ("command", "dim")
        say(f"{state}: {command}", style)
    return new
