"""The nightly build and its evaluation as Prefect flows: each stage of `pipeline.build` runs as a task."""

import logging
from pathlib import Path
from traceback import clear_frames
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.artifacts import show_build, show_evaluation
from flows.runtime import current_progress, logs_on_server
from flows.tasks import TaskExecution
from pipeline.build import build, failures_announced
from pipeline.build.report import BuildReport
from pipeline.errors import QuartermasterError, SettingsInvalid
from pipeline.settings import load, overrides, with_provider
from pipeline.sources.transport.approval import require_approved, without_commands
from pipeline.workers import start_workers
from quartermaster.evaluation import ask, figures, judgements_of, read_judgements
from router import Router

_logger = logging.getLogger(__name__)


# The stages are tried again; a build that was held would be held again.
@flow(name="build-catalog", flow_run_name="build {path}", persist_result=False, retries=0)
def build_catalog(
    path: str,
    workspace: str = ".quartermaster",
    generator: str | None = None,
    encoder: str | None = None,
    force: bool = False,
    evaluate: bool = True,
    max_cost: float | None = None,
    max_tools: int | None = None,
    mode: str | None = None,
    skip_unreadable: bool | None = None,
    provider: str | None = None,
    allow_commands: bool = False,
    no_commands: bool = False,
) -> Any:
    """Build a catalog's snapshot, publish it, and evaluate it if it is new and the catalog's folder has judgements.

    The parameters are those of `quartermaster build`. Returns the BuildReport. The run ends as Completed; or, with a
    state of type Failed, as Held if a gate kept the snapshot from serving, as Quarantined if single tools are newly
    held back, as Degraded if the build went without something, as Unmeasured if the snapshot serves but its evaluation
    failed, and as Failed, with the reason, if the build stopped: then the previous snapshot still serves.
    """
    progress = current_progress()
    with logs_on_server():
        try:
            with failures_announced(Path(path), Path(workspace), allow=allow_commands):
                settings = load(Path(path), overrides(generator, encoder, max_cost, max_tools, mode, skip_unreadable))
                settings = with_provider(settings, provider)
                if no_commands:
                    settings = without_commands(settings)
                else:
                    require_approved(settings, allow=allow_commands)
                with start_workers(settings.flow, Path(workspace)) as workers:
                    report = build(
                        settings,
                        workspace=Path(workspace),
                        force=force,
                        progress=progress,
                        execution=TaskExecution(settings.flow, progress, workers),
                        wait_s=settings.flow.wait_s,
                    )
        except BaseException as error:
            _release_frames(error)
            if isinstance(error, QuartermasterError):
                return Failed(message=str(error), data=error)
            raise
        show_build(settings.name, report)
        unmeasured = None
        # A single file has no judgements. An unchanged snapshot was measured before.
        if evaluate and report.outcome == "published" and Path(path).is_dir() and judgements_of(settings.folder):
            measured: Any = evaluate_catalog(path, str(report.snapshot), name=settings.name, return_state=True)
            if not measured.is_completed():
                unmeasured = str(measured.message or measured.name)
                message = f"the snapshot serves, but it could not be measured: {unmeasured}"
                _logger.warning("%s", message)
                progress.note(message)
        return _final_state(report, unmeasured)


@flow(name="evaluate-catalog", flow_run_name="evaluate {bench}", persist_result=False)
def evaluate_catalog(bench: str, snapshot: str, recipe: str | None = None, name: str | None = None) -> Any:
    """Measure a snapshot, or the one that a catalog's folder or address serves, on the judgements in a folder.

    `bench` is the folder with judgements.jsonl or queries.jsonl; `name` is that of the artifact, by default the
    folder's. Returns the evaluation as JSON, and stores it as an artifact.
    """
    folder = Path(bench)
    try:
        file = judgements_of(folder)
        if file is None:
            raise SettingsInvalid(f"{folder} holds neither queries.jsonl nor judgements.jsonl")
        judgements = read_judgements(file)
        name = name or folder.resolve().name
        progress = current_progress()
        progress.start("evaluate", len(judgements))
        result = figures(ask(Router.open(snapshot), judgements, recipe, advance=progress.advance), name)
    except QuartermasterError as error:
        return Failed(message=str(error), data=error)
    show_evaluation(name, result)
    return result


def _release_frames(error: BaseException) -> None:
    """Let go of what the frames of an error hold, such as a ledger's connection.

    Prefect keeps the error until the process ends, and DuckDB then reports each open object on the terminal.
    """
    link: BaseException | None = error
    while link is not None:
        clear_frames(link.__traceback__)
        link = link.__cause__ or link.__context__


def _final_state(report: BuildReport, unmeasured: str | None) -> State[Any]:
    """Return the state of a build that ended. Only a build that lacks nothing is Completed."""
    lacks = [*report.degraded, *([f"the snapshot could not be measured: {unmeasured}"] if unmeasured else [])]
    for name, reasons in (
        ("Held", report.held),
        ("Quarantined", report.newly_quarantined),
        ("Degraded", lacks if report.degraded else ()),
        ("Unmeasured", [unmeasured] if unmeasured else ()),
    ):
        if reasons:
            return Failed(name=name, message="; ".join(map(str, reasons)), data=report)
    return Completed(message=f"{report.outcome}: {report.snapshot.name}", data=report)
