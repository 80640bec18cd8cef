"""snapshots: lists the snapshots, verifies them, changes the one that serves."""

from typing import Annotated, Optional

import typer

from flows.cli.commands.arguments import WORKSPACE, JsonOutput, Workspace, catalog_to_change
from router.errors import SettingsInvalid
from router.store import catalogs


def snapshots(
    catalog: Annotated[Optional[str], typer.Argument(help="A catalog of the workspace; by default, all.")] = None,
    workspace: Workspace = WORKSPACE,
    rollback: Annotated[bool, typer.Option("--rollback", help="Serve the snapshot before the current one.")] = False,
    use: Annotated[Optional[str], typer.Option(help="Serve this snapshot: one held back, or an older one.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check every file against its checksum.")] = False,
    as_json: JsonOutput = False,
) -> None:
    """List the snapshots, verify them, or choose which one serves."""
    from flows.output.snapshots import change_serving, show_snapshots

    if rollback and use:
        raise SettingsInvalid("--rollback and --use both choose what serves: give one")
    names = catalogs(workspace)
    if catalog or rollback or use:
        names = [catalog_to_change(catalog, workspace)]
    if rollback or use:
        change_serving(workspace, names[0], use)
    if not show_snapshots(workspace, names, verify=verify, as_json=as_json):
        raise typer.Exit(4)
