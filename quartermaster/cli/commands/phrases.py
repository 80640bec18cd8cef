"""phrases: what a person writes beside a model's phrases, and what became of it."""

from pathlib import Path
from typing import Annotated

import typer

from quartermaster.cli.commands.options import WORKSPACE, App, JsonOutput, Source, Workspace
from router import Router

Folder = Annotated[Path, "The catalog: what build is given, such as a folder with catalog.toml."]

phrases = App(
    """Write phrases for tools yourself. They are requests in the words of users, beside those of a model or a file.

    They stand in phrases.jsonl beside catalog.toml, which is yours: no check drops what it says. At most a verdict
    says what a check noted.

    \b
    quartermaster phrases add billing/list_invoices "which bills are open" --folder catalogs/office
    quartermaster phrases check --folder catalogs/office    what the checks say, and which rank the tool has
    quartermaster phrases list billing/list_invoices        who wrote each phrase that serves, and what was dropped

    \b
    Visitors of the pages may suggest phrases (quartermaster serve http --suggestions FILE). They wait for you:
    quartermaster phrases list --suggested FILE             each with what the checks say, and the rank of its tool
    quartermaster phrases add billing/list_invoices --suggested FILE    takes the tool's up, and out of FILE"""
)
Suggested = Annotated[Path | None, "The file of phrases that visitors of the pages suggest."]


@phrases.add
def add(
    tool: Annotated[str, typer.Argument(help="The tool's id.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="PHRASE...", help="Requests that it is for.")] = None,
    folder: Folder = Path(),
    workspace: Workspace = WORKSPACE,
    suggested: Suggested = None,
) -> None:
    """Add phrases to a tool's, from the next build on. With --suggested, those that wait in a file, or some of them."""
    from quartermaster.output.phrases import add_phrases, take_up

    if suggested is not None:
        take_up(suggested, folder, workspace, tool, texts or ())
    else:
        add_phrases(folder, workspace, tool, texts or ())


@phrases.add
def check(
    tool: Annotated[str | None, typer.Argument(help="Only this tool's.")] = None,
    folder: Folder = Path(),
    workspace: Workspace = WORKSPACE,
    as_json: JsonOutput = False,
) -> None:
    """Check phrases.jsonl. Shows what the checks say of each phrase, and the rank of its tool in what serves."""
    from quartermaster.output.phrases import check_phrases

    check_phrases(folder, workspace, tool, as_json=as_json)


def list_phrases(
    source: Source,
    tool: Annotated[str | None, typer.Argument(help="Only this tool's.")] = None,
    limit: Annotated[int | None, "The most rows."] = None,
    suggested: Suggested = None,
    as_json: JsonOutput = False,
) -> None:
    """List the phrases that serve, and who wrote each. Also those that were dropped or noted, and why.

    With --suggested, those that wait in a file: what the checks say of each, and its tool's rank.
    """
    from quartermaster.output.phrases import show_phrases, show_suggestions

    if suggested is not None:
        show_suggestions(suggested, Router.open(source.local_folder()), tool, as_json=as_json)
        return
    show_phrases(source.local_folder(), tool, limit, as_json=as_json)


phrases.add(list_phrases, "list")
