"""inspect: what a snapshot holds."""

from typing import Annotated, Optional

import typer

from flows.commands.arguments import WORKSPACE, At, Catalog, Json, Workspace, folder_of
from router.errors import SettingsInvalid


def inspect(
    tool: Annotated[Optional[str], typer.Argument(help="A tool id: everything about that tool.")] = None,
    table: Annotated[Optional[str], typer.Option(help="The rows of this table or view.")] = None,
    against: Annotated[
        Optional[str], typer.Option(help="What changed since this snapshot: an id of the catalog's, or a folder.")
    ] = None,
    sql: Annotated[Optional[str], typer.Option(help="The answer to a SELECT; nothing can be written.")] = None,
    limit: Annotated[Optional[int], typer.Option(help="How many rows at most: 20, or 5 a section.")] = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: At = None,
    as_json: Json = False,
) -> None:
    """What a snapshot holds, cost, lacks and changed.

    Without TOOL or options an overview, with the tables and views that can be asked.
    """
    from flows.screens.inspection import show
    from pipeline.inspection.reading import Inspection

    given = {"TOOL": tool, "--table": table, "--against": against, "--sql": sql}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise SettingsInvalid(f"{' and '.join(names)} are different questions: give one")
    with Inspection.open(folder_of(snapshot, workspace, catalog)) as inspection:
        show(inspection, tool=tool, table=table, against=against, sql=sql, limit=limit, as_json=as_json)
