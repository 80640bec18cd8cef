"""ledger and status: the file that holds everything a build paid for, and how the last builds ended."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from quartermaster.cli.commands.options import WORKSPACE, App, JsonOutput, Source, Workspace
from quartermaster.output.terminal import ProgressBars
from router.errors import SettingsInvalid

Wait = Annotated[float, "Seconds to wait for a build, or a program that reads the ledger, to end."]

ledger = App(
    """Look after the ledger, the file of the answers you paid for.

    Builds copy it by themselves into the workspace's folder backups, and restore it from there.
    These commands are for the rest: a backup on another disk, a look inside while a build runs, a file that grew.

    \b
    quartermaster ledger show                         what it holds and what that cost, also while a build runs
    quartermaster ledger show --sql "FROM answers"    any question in SQL
    quartermaster ledger backup /backup/              copy it to another disk
    quartermaster ledger check                        is it whole?
    quartermaster ledger restore /backup/FILE         put a backup in its place
    quartermaster ledger compact                      rewrite it without gaps
    quartermaster ledger discard --run 41             have bad answers asked again"""
)


def _do(command: Callable[..., Any], *arguments: object, as_json: bool, **options: object) -> None:
    """Call a command on the ledger, and print what it did."""
    from quartermaster.output.ledger import show_done

    with ProgressBars() as bars:
        done = command(*arguments, tell=bars.note, **options)
    show_done(done, as_json=as_json)


@ledger.add
def show(
    workspace: Workspace = WORKSPACE,
    sql: Annotated[str | None, "A SELECT; the answer's rows are printed."] = None,
    limit: Annotated[int, "The most rows."] = 20,
    as_json: JsonOutput = False,
) -> None:
    """Show what the ledger holds and cost, or the rows of a SELECT. Nothing is written.

    While a build runs, the last backup answers, which a build made when it ended; a line says of when it is.
    """
    from quartermaster.output.ledger import show_ledger

    show_ledger(workspace, sql, limit, as_json=as_json)


@ledger.add
def backup(
    target: Annotated[str, typer.Argument(help="A file, or a folder, where the name gets the time.")],
    workspace: Workspace = WORKSPACE,
    wait: Wait = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """Copy the ledger to another place. The copy is read back, to see that it is whole.

    While a build runs, the last backup is copied; --wait waits for the build's end instead.
    """
    from pipeline.ledger.commands import back_up

    if target.endswith("/") and not Path(target).is_dir():  # a disk that is not mounted, or a folder to be made
        raise SettingsInvalid(f"there is no folder {target}: make it, or name a file")
    _do(back_up, workspace, Path(target), as_json=as_json, wait_s=wait)


@ledger.add
def restore(
    file: Annotated[Path | None, typer.Argument(help="A backup; by default the last one that a build made.")] = None,
    workspace: Workspace = WORKSPACE,
    wait: Wait = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """Put a backup in the place of the ledger. The file before it is kept beside it.

    The backup is checked first, and nothing is changed while a build runs. A build does the same where the
    ledger is missing or damaged.
    """
    from pipeline.ledger.commands import restore as restore_ledger

    _do(restore_ledger, workspace, file, as_json=as_json, wait_s=wait)


@ledger.add
def check(
    file: Annotated[
        Path | None, typer.Argument(help="A backup to check; by default the ledger of the workspace.")
    ] = None,
    workspace: Workspace = WORKSPACE,
    as_json: JsonOutput = False,
) -> None:
    """Check that the ledger is whole. Does it open, is each value readable, do the tables fit together?

    Exit code 0 where nothing is wrong, 1 where something is, with a sentence for each finding. It reads every value,
    and looks for answers that are not JSON, of no run, or paid for twice, and for questions without their instructions.
    """
    from pipeline.ledger.commands import check as check_ledger
    from quartermaster.output.ledger import show_done

    checked = check_ledger(workspace, file)
    show_done(checked, as_json=as_json)
    if checked.problems:
        raise typer.Exit(1)


@ledger.add
def compact(
    workspace: Workspace = WORKSPACE,
    vectors: Annotated[bool, "Leave out vectors of texts that no stored snapshot has."] = False,
    wait: Wait = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """Rewrite the ledger into a smaller file: DuckDB never shrinks it.

    Nothing that was paid for is left out. With --vectors, vectors go that no snapshot of the workspace needs; a text
    that comes back is embedded again, which costs time and no money.
    """
    from pipeline.ledger.commands import compact as compact_ledger

    _do(compact_ledger, workspace, as_json=as_json, wait_s=wait, drop_vectors=vectors)


@ledger.add
def discard(
    tools: Annotated[list[str] | None, typer.Argument(metavar="[TOOL]...", help="Ids or globs: 'hr/*'.")] = None,
    run: Annotated[int | None, "Answers that this run stored: see the runs of ledger show."] = None,
    model: Annotated[str | None, "Answers of this model."] = None,
    since: Annotated[datetime | None, "Answers stored at this time or later, UTC."] = None,
    until: Annotated[datetime | None, "Answers stored before this time, UTC."] = None,
    check: Annotated[
        str | None, "Answers with a text that this check dropped or noted in the snapshot that serves: see verdicts."
    ] = None,
    catalog: Annotated[str | None, "With --check: whose snapshot, by default that of the catalog built last."] = None,
    workspace: Workspace = WORKSPACE,
    dry_run: Annotated[bool, "Discard nothing: say which answers, and what they cost."] = False,
    wait: Wait = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """Discard answers of models, so that the next build asks again. They are those that meet all given options.

    They stay in the ledger, marked (discarded_at in its view answers), and never serve again, not even where the model
    fails. What was paid for them stays counted. A snapshot that serves goes on serving.
    """
    from pipeline.ledger.discarding import discard as discard_answers
    from quartermaster.output.ledger import texts_found

    found = texts_found(Source(catalog=catalog, workspace=workspace).local_folder(), check) if check else None
    chosen = {"run": run, "model": model, "since": since, "until": until, "found": found}
    _do(discard_answers, workspace, tools or (), as_json=as_json, wait_s=wait, dry_run=dry_run, **chosen)


def status(
    catalog: Annotated[str | None, typer.Argument(help="A catalog of the workspace; by default, all.")] = None,
    workspace: Workspace = WORKSPACE,
    within: Annotated[float | None, "Hours: a build that ended longer ago counts as missing."] = None,
    limit: Annotated[int, "The most rows for each catalog."] = 10,
    wait: Wait = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """Say how the last builds ended, and what each paid. Did last night succeed?

    Exit code 0 where the last build of each catalog was published or found nothing changed, 1 where one was held,
    failed, was killed or is missing. What a build went without is named, and changes no exit code.

    failed: questions without a usable answer. refused: tools with an answer of which no phrase passed the checks.
    reused: answers that the ledger had already. cost: of the answers and failures that the build stored.

    \b
    quartermaster status --within 26
    """
    from quartermaster.output.ledger import show_status

    if not show_status(workspace, catalog, limit, within, wait, as_json=as_json):
        raise typer.Exit(1)
