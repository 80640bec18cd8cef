"""inspect and feedback: what a snapshot holds, and what became of what was offered."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Catalog,
    JsonOutput,
    SnapshotSource,
    Workspace,
    local_folder,
    source_of,
)
from router.errors import SettingsInvalid


def inspect(
    tool: Annotated[Optional[str], typer.Argument(help="A tool id: show everything about this tool.")] = None,
    table: Annotated[Optional[str], typer.Option(help="Show the rows of this table or view.")] = None,
    against: Annotated[
        Optional[str], typer.Option(help="Show what changed since this snapshot: an id or a folder.")
    ] = None,
    sql: Annotated[Optional[str], typer.Option(help="Answer a SELECT; nothing can be written.")] = None,
    limit: Annotated[
        Optional[int], typer.Option(help="The most rows to show; by default 20, in the overview 5 for each section.")
    ] = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: SnapshotSource = None,
    cache_dir: CacheDir = None,
    as_json: JsonOutput = False,
) -> None:
    """Show what a snapshot contains, what it cost and what changed.

    Without a TOOL or an option: an overview, with the tables and views that can be queried.
    """
    from pipeline.inspection.reading import Inspection
    from quartermaster.output.inspection import show_inspection

    questions = {"TOOL": tool, "--table": table, "--against": against, "--sql": sql}
    names = [name for name, value in questions.items() if value is not None]
    if len(names) > 1:
        raise SettingsInvalid(f"{' and '.join(names)} cannot be combined: give one")
    folder = local_folder(source_of(snapshot, workspace, catalog), cache_dir)
    with Inspection.open(folder) as inspection:
        show_inspection(inspection, tool=tool, table=table, against=against, sql=sql, limit=limit, as_json=as_json)


def feedback(
    folder: Annotated[Path, typer.Argument(help="The folder of a feedback log.")],
    forget: Annotated[
        Optional[str], typer.Option(metavar="TEXT", help="Erase the text of this request from the log first.")
    ] = None,
    as_json: JsonOutput = False,
) -> None:
    """Show what was offered and what became of it: by rank, by outcome, and the tools that nobody calls.

    \b
    quartermaster feedback feedback/
    quartermaster feedback feedback/ --forget "refund the order of Lindholm"
    """
    from quartermaster.output.feedback import forget_text, show_feedback

    if forget is not None:
        forget_text(folder, forget)
    show_feedback(folder, as_json=as_json)
