"""The nightly build as a Prefect flow: each stage of `pipeline.build` runs as a task."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.states import Completed, Failed

from flows.artifacts import show_build
from flows.engine.dead_runs import close_crashed_run, close_dead_runs, forget_this_run, open_this_run
from flows.engine.open_runs import OpenRun
from flows.engine.progress import FlowProgress
from flows.engine.reporting import SERVER_ERRORS, ServerReports, describe, give_up_server
from flows.engine.result import current_result
from flows.engine.run_logs import logs_on_server
from flows.engine.stage import release_frames
from flows.engine.tasks import TaskExecution
from flows.evaluate import evaluate_catalog
from pipeline.build import build, failures_announced
from pipeline.build.report import BuildReport
from pipeline.errors import QuartermasterError
from pipeline.settings import CatalogSettings, load, overrides, with_provider, without_commands
from pipeline.sources.transport.approval import require_approved
from quartermaster.evaluation import judgements_of


@flow(
    name="build-catalog",
    flow_run_name="build {path}",
    persist_result=False,
    retries=0,  # the stages are tried again; a build that was held would be held again
    on_completion=[forget_this_run],
    on_failure=[forget_this_run],
    on_cancellation=[forget_this_run],
    on_crashed=[close_crashed_run],
)
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
    result = current_result()
    server = ServerReports()
    with logs_on_server():
        close_dead_runs(Path(workspace))
        run: OpenRun | None = None
        try:
            run = open_this_run(Path(workspace))
            with failures_announced(Path(path)):
                settings = load(Path(path), overrides(generator, encoder, max_cost, max_tools, mode, skip_unreadable))
                settings = with_provider(settings, provider)
                settings = without_commands(settings) if no_commands else settings
                require_approved(settings, allow=allow_commands)
                server.wait_s = settings.flow.server_wait_s
                progress = FlowProgress(settings.name, server)
                with TaskExecution.started(settings.flow, progress, Path(workspace)) as execution:
                    report = build(
                        settings,
                        workspace=Path(workspace),
                        force=force,
                        progress=progress,
                        execution=execution,
                        wait_s=settings.flow.wait_s,
                    )
        except QuartermasterError as error:
            release_frames(error)
            result.error = error
            return _end(run, server, Failed(message=str(error), data=error))
        except BaseException as error:
            release_frames(error)
            result.error = error
            if not isinstance(error, Exception) and not PREFECT_API_URL.value():
                give_up_server()  # Ctrl-C has ended the server of this run, too
            raise
        result.report = report
        run.end(_final_state(report, None))  # what follows may be killed: the build is done
        unmeasured = _tell(settings, report, progress, Path(path) if evaluate else None)
        return _end(run, server, _final_state(report, unmeasured))


def _tell(settings: CatalogSettings, report: BuildReport, progress: FlowProgress, judged: Path | None) -> str | None:
    """Leave the artifacts, and measure a new snapshot. Returns why it could not be measured."""
    get_run_logger().info("%s: %s", report.outcome, report.snapshot)
    progress.server.wait()
    if progress.server.possible:
        with progress.server.attempt("the build's figures"):
            show_build(settings.name, report)
    # A single file has no judgements of its own. An unchanged snapshot was measured before.
    if judged is None or report.outcome != "published" or not judged.is_dir() or not judgements_of(settings.folder):
        return None
    reason: str | None = "the Prefect server does not answer"
    if progress.server.possible:
        reason = _measure(str(judged), str(report.snapshot), settings.name)
    if reason:
        message = f"the snapshot serves, but it could not be measured: {reason}"
        get_run_logger().warning("%s", message)
        progress.note(message)
    return reason


def _measure(folder: str, snapshot: str, name: str) -> str | None:
    """Run the evaluation as a flow of its own. Returns why it failed."""
    try:
        state: Any = evaluate_catalog(folder, snapshot, name=name, return_state=True)
    except SERVER_ERRORS as error:
        return f"the Prefect server did not answer ({describe(error)})"
    return None if state.is_completed() else str(state.message or state.name)


def _end(run: OpenRun | None, server: ServerReports, state: State[Any]) -> State[Any]:
    """Return the state that the engine is to report, and let it end without a server that is gone."""
    if run:
        run.end(state)
    if not server.wait():
        give_up_server()
    return state


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
