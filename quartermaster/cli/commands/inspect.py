"""inspect and feedback: what a snapshot holds, and the outcomes of what was offered."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quartermaster.cli.commands.options import JsonOutput, Source
from quartermaster.output.formatting import make_table
from quartermaster.output.terminal import out, print_err, print_json, print_out
from router.errors import SettingsInvalid


def inspect(
    source: Source,
    tool: Annotated[str | None, typer.Argument(help="A tool id: show everything about this tool.")] = None,
    table: Annotated[str | None, "Show the rows of this table or view."] = None,
    against: Annotated[str | None, "Show what changed since this snapshot: an id or a folder."] = None,
    sql: Annotated[str | None, "Answer a SELECT; nothing can be written."] = None,
    limit: Annotated[int | None, "The most rows to show; by default 20, in the overview 5 for each section."] = None,
    as_json: JsonOutput = False,
) -> None:
    """Show what a snapshot contains, what it cost and what changed.

    Without a TOOL or an option: an overview, with the tables and views that can be queried.
    """
    from pipeline.inspection.reading import Inspection
    from quartermaster.output.inspection import show_overview, show_rows, show_tool

    questions = {"TOOL": tool, "--table": table, "--against": against, "--sql": sql}
    names = [name for name, value in questions.items() if value is not None]
    if len(names) > 1:
        raise SettingsInvalid(f"{' and '.join(names)} cannot be combined: give one")
    with Inspection.open(source.local_folder()) as inspection:
        if not names:
            show_overview(inspection, limit, as_json=as_json)
        elif tool is None:
            show_rows(inspection, table=table, against=against, sql=sql or "", limit=limit, as_json=as_json)
        elif as_json:
            print_json(inspection.tool(tool).to_json())
        else:
            show_tool(inspection.tool(tool))


def feedback(
    folder: Annotated[Path, typer.Argument(help="The folder of a feedback log.")],
    forget: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Erase the text of this request from the log first.")
    ] = None,
    as_json: JsonOutput = False,
) -> None:
    """Show what was offered and its outcomes. Counts are by rank and by outcome, with the tools that nobody calls.

    \b
    quartermaster feedback feedback/
    quartermaster feedback feedback/ --forget "refund the order of Lindholm"
    """
    from pipeline.feedback import forget_request, join_answers, read_events, summarize

    if not folder.is_dir():
        raise SettingsInvalid(f"there is no feedback log in {folder}: name the folder that --feedback was given")
    if forget is not None:
        print_err(f"erased from {forget_request(folder, forget):,} answers")
    events = read_events(folder)
    if forget is not None and events.writing:
        print_err(
            f"{events.writing} files of running routers are left as they are: run this again once they are closed"
        )
    summary = summarize(events, join_answers(events))
    if as_json:
        print_json(asdict(summary))
        return
    counts = {
        "with their text": summary.texts,
        **summary.outcomes,
        "reports of no answer": summary.untied,
        "events removed": summary.removed,
        "lines unreadable": summary.unreadable,
    }
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    print_out(f"{summary.answers:,} answers{': ' if said else ''}{said}")
    ranks = (
        (str(r.rank), f"{r.offered:,}", f"{r.called:,}", f"{r.called / (r.offered or 1):.0%}") for r in summary.ranks
    )
    if summary.ranks:
        out.print(make_table(("rank", "offered", "called", "share"), ranks))
    if never := summary.never_called:
        out.print(make_table(("never called", "offered"), ((tool, f"{count:,}") for tool, count in never.items())))
