"""The nightly build as a Prefect flow: each stage of `pipeline.build` runs as a task."""

import logging
from pathlib import Path
from traceback import clear_frames
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.artifacts import show_build
from flows.evaluate import evaluate_catalog
from flows.runtime import current_progress, logs_on_server
from flows.tasks import TaskExecution
from pipeline.build import build, failures_announced
from pipeline.build.report import BuildReport
from pipeline.errors import QuartermasterError
from pipeline.settings import load, overrides, with_provider, without_commands
from pipeline.sources.transport.approval import require_approved
from quartermaster.evaluation import judgements_of

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
            with failures_announced(Path(path)):
                settings = load(Path(path), overrides(generator, encoder, max_cost, max_tools, mode, skip_unreadable))
                settings = with_provider(settings, provider)
                settings = without_commands(settings) if no_commands else settings
                require_approved(settings, allow=allow_commands)
                with TaskExecution.started(settings.flow, progress, Path(workspace)) as execution:
                    report = build(
                        settings,
                        workspace=Path(workspace),
                        force=force,
                        progress=progress,
                        execution=execution,
                        wait_s=settings.flow.wait_s,
                    )
        except BaseException as error:
            _release_frames(error)
            if isinstance(error, QuartermasterError):
                return Failed(message=str(error), data=error)
            raise
        show_build(settings.name, report)
        unmeasured = None
        # A single file has no judgements of its own. An unchanged snapshot was measured before.
        if evaluate and report.outcome == "published" and Path(path).is_dir() and judgements_of(settings.folder):
            measured: Any = evaluate_catalog(path, str(report.snapshot), name=settings.name, return_state=True)
            if not measured.is_completed():
                unmeasured = str(measured.message or measured.name)
                message = f"the snapshot serves, but it could not be measured: {unmeasured}"
                _logger.warning("%s", message)
                progress.note(message)
        return _final_state(report, unmeasured)


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
    if report.held:
        return Failed(name="Held", message="; ".join(report.held), data=report)
    if report.newly_quarantined:
        return Failed(name="Quarantined", message="; ".join(map(str, report.newly_quarantined)), data=report)
    if report.degraded:
        lacks = [*report.degraded, *([f"the snapshot could not be measured: {unmeasured}"] if unmeasured else [])]
        return Failed(name="Degraded", message="; ".join(lacks), data=report)
    if unmeasured:
        return Failed(name="Unmeasured", message=unmeasured, data=report)
    return Completed(message=f"{report.outcome}: {report.snapshot.name}", data=report)
