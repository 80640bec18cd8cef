"""The nightly build as a Prefect flow: each stage of `pipeline.build` runs as a task."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed

from flows.engine.progress import FlowProgress
from flows.engine.tasks import TaskExecution, release_frames
from flows.evaluate import evaluate_catalog
from flows.output.artifacts import show_build
from pipeline.build import build
from pipeline.errors import QuartermasterError
from pipeline.settings import load, overrides, with_provider
from router.evaluation import judgements_of


@flow(name="build-catalog", flow_run_name="build {path}", persist_result=False)
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
) -> Any:
    """Build a catalog's snapshot, publish it, and evaluate it if it is new and the catalog's folder has judgements.

    The parameters are those of `quartermaster build`. Returns the BuildReport. The run ends as Completed; as Held if
    the gate kept the snapshot from serving; as Unmeasured if the snapshot serves but its evaluation failed; as Failed,
    with the reason, if the build stopped: then the previous snapshot still serves.
    """
    try:
        settings = load(Path(path), overrides(generator, encoder, max_cost, max_tools, mode, skip_unreadable))
        settings = with_provider(settings, provider)
        progress = FlowProgress(settings.name)
        report = build(
            settings,
            workspace=Path(workspace),
            force=force,
            progress=progress,
            execution=TaskExecution(settings.flow, progress),
            wait_s=settings.flow.wait_s,
        )
    except QuartermasterError as error:
        release_frames(error)
        return Failed(message=str(error), data=error)
    except BaseException as error:
        release_frames(error)
        raise
    get_run_logger().info("%s: %s", report.outcome, report.snapshot)
    show_build(settings.name, report)
    if report.held:
        return Completed(name="Held", message="; ".join(report.held), data=report)
    # A single file has no judgements of its own. An unchanged snapshot was measured before.
    if evaluate and report.outcome == "published" and Path(path).is_dir() and judgements_of(settings.folder):
        state: Any = evaluate_catalog(path, str(report.snapshot), name=settings.name, return_state=True)
        if not state.is_completed():
            progress.note(f"the snapshot serves, but it could not be measured: {state.message}")
            return Completed(name="Unmeasured", message=state.message, data=report)
    return report
