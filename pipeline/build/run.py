"""`build`: one build of a workspace, under the ledger's lock and in its history."""

from dataclasses import replace
from pathlib import Path

import duckdb

from pipeline.build.driver import Build
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.execution import DirectExecution, Execution
from pipeline.ledger import LEDGER_FILE, Ledger, LedgerDamaged, explained
from pipeline.progress import Progress, SilentProgress, StageClock
from pipeline.publish import SnapshotStore
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.vectors.encoding import close_encoders
from router.store import WritableStore


def build(
    settings: CatalogSettings,
    *,
    workspace: Path = DEFAULT_WORKSPACE,
    force: bool = False,
    area: str = "snapshots",
    store: WritableStore | None = None,
    progress: Progress | None = None,
    execution: Execution | None = None,
    wait_s: float = 0.0,
) -> BuildReport:
    """Build a catalog's snapshot and publish it, unless nothing changed or a gate holds it back.

    Whatever happens, the snapshot that was serving goes on serving.

    Args:
        settings: The catalog's settings, as `pipeline.settings.load` returns them.
        workspace: The folder of the ledger and the snapshots.
        force: Write a snapshot even if nothing changed.
        area: A folder in the workspace, where `store` is None. Another than the default keeps an experiment apart from
            what serves.
        store: Where the snapshot goes; by default the catalog's folder in `area`.
        progress: Is told of each stage.
        execution: Carries out the stages: called directly, or each as a task of a flow.
        wait_s: Seconds to wait for another build of the workspace, or a program that reads its ledger, to end.

    Raises:
        SettingsInvalid: A setting is wrong.
        RunAborted: A source, a model or a budget stopped the build.
        SnapshotInvalid: What was written cannot be opened.
    """
    workspace = Path(workspace)
    clock = StageClock(progress or SilentProgress())
    store = store or SnapshotStore(workspace, settings.name, area)
    try:
        with Ledger.open(workspace, wait_s, tell=clock.note) as ledger:
            for killed in ledger.close_killed_runs():
                clock.note(f"run {killed} had been killed: it is closed, and what it paid for is kept")
            run = ledger.start_run(settings.name, area)
            try:
                ledger.keep_copies(settings.ledger, settings.name, run, clock.note)
                report = Build(
                    settings, workspace, store, ledger, run, execution or DirectExecution(), clock, area
                ).run_all(force)
            except BaseException as error:
                _close_failed(ledger, run, str(error) or type(error).__name__, clock)
                raise
            finally:
                close_encoders()
            return _closed(ledger, run, report)
    except (OSError, duckdb.Error) as error:
        raise _aborted(error, workspace / LEDGER_FILE) from error


def _closed(ledger: Ledger, run: int, report: BuildReport) -> BuildReport:
    """Close a run that ended well, and return its report, which says so where the ledger could not be written."""
    try:
        ledger.finish_run(run, report.outcome, snapshot=report.snapshot.name, message="; ".join(report.held))
    except duckdb.Error as error:
        problem = f"run {run} could not be closed in the ledger: {' '.join(str(error).split())}"
        return replace(report, degraded=(*report.degraded, problem))
    return report


def _close_failed(ledger: Ledger, run: int, message: str, progress: Progress) -> None:
    """Close a run that failed. Where that fails too, as on a full disk, the next build closes it."""
    try:
        ledger.finish_run(run, "failed", snapshot=None, message=message)
    except duckdb.Error:
        progress.note(f"run {run} could not be closed in the ledger; the next build closes it")


def _aborted(error: OSError | duckdb.Error, ledger: Path) -> RunAborted:
    """Return an error of the disk or the ledger as the end of a build, with the way out."""
    if isinstance(error, OSError):
        return RunAborted(f"the workspace {ledger.parent} could not be written: {error}")
    ours = explained(error, ledger)
    if isinstance(ours, LedgerDamaged):
        return RunAborted(
            f"the ledger {ledger} could not be read or written: {ours}. "
            "`quartermaster ledger check` tells what is wrong; a build restores a damaged ledger from its copies"
        )
    return ours if isinstance(ours, RunAborted) else RunAborted(str(ours))
