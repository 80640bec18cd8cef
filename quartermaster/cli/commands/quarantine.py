"""quarantine: the tools that builds hold back alone, and what is decided about them."""

from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import WORKSPACE, JsonOutput, Workspace, catalog_to_change
from router.errors import SettingsInvalid

_Ids = Optional[list[str]]


def quarantine(
    catalog: Annotated[Optional[str], typer.Argument(help="A catalog of the workspace.")] = None,
    workspace: Workspace = WORKSPACE,
    release: Annotated[
        _Ids, typer.Option(metavar="ID", help="Let this tool serve from the next build on; may be given again.")
    ] = None,
    hold: Annotated[
        _Ids, typer.Option(metavar="ID", help="Take back the release of this tool; may be given again.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for a build of the workspace to end.")] = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """List the tools that builds hold back alone, or release them.

    Such a tool would enter the first five of requests that its name and first sentence do not fit. A new one is left
    out, a changed one serves as it was. A released tool is checked again when it changes.
    """
    from quartermaster.output.quarantine import decide_quarantine, show_quarantine

    name = catalog_to_change(catalog, workspace)
    if both := set(release or ()) & set(hold or ()):
        raise SettingsInvalid(f"{sorted(both)[0]!r} is to be released and held: give one")
    if release or hold:
        decide_quarantine(workspace, name, release or [], hold or [], wait)
    show_quarantine(workspace, name, as_json=as_json)
