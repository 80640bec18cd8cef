"""`build`: one build of a workspace, under the ledger's lock, in its history, and announced when it has ended."""

import logging
from pathlib import Path

import duckdb

from pipeline.build.announced import AnnouncedBuild
from pipeline.build.driver import Build
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.execution import DirectExecution, Execution
from pipeline.ledger import Ledger
from pipeline.progress import Progress, SilentProgress, StageClock
from pipeline.publish import SnapshotStore
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.vectors.encoding import close_encoders
from router.store import WritableStore

_logger = logging.getLogger(__name__)


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

    Whatever happens, the snapshot that was serving goes on serving. How it ended is logged, measured and told to the
    hook, as the settings say; an experiment in another area is not.

    Args:
        settings: The catalog's settings, as `pipeline.settings.load` returns them.
        workspace: The folder of the ledger and the snapshots.
        force: Write a snapshot even if nothing changed.
        area: A folder in the workspace, where `store` is None. Another than the default keeps an experiment apart from
            what serves.
        store: Where the snapshot goes; by default the catalog's folder in `area`.
        progress: Is told of each stage.
        execution: Carries out the stages: called directly, or each as a task of a flow.
        wait_s: Seconds to wait for another build of the workspace to end.

    Raises:
        SettingsInvalid: A setting is wrong.
        RunAborted: A source, a model or a budget stopped the build.
        SnapshotInvalid: What was written cannot be opened.
    """
    workspace = Path(workspace)
    store = store or SnapshotStore(workspace, settings.name, area)
    with AnnouncedBuild(settings, workspace, store, area) as announced:
        with Ledger.open(workspace, wait_s) as ledger:
            run = ledger.start_run(settings.name, area)
            announced.began(ledger, run)
            clock = StageClock(progress or SilentProgress())
            try:
                report = Build(settings, workspace, store, ledger, run, execution or DirectExecution(), clock).run_all(
                    force
                )
            except (OSError, duckdb.Error) as error:
                _close_failed(ledger, run, error)
                raise RunAborted(f"the workspace {workspace} could not be written: {error}") from error
            except BaseException as error:
                _close_failed(ledger, run, error)
                raise
            finally:
                clock.stop()
                announced.seconds = clock.seconds
                close_encoders()
            ledger.put_degraded(run, report.degraded)
            ledger.finish_run(
                run,
                report.outcome,
                snapshot=report.snapshot.name,
                message="; ".join(report.held),
            )
            announced.ended(report)
        return report


def _close_failed(ledger: Ledger, run: int, error: BaseException) -> None:
    """Store that a run failed. On a full disk that may fail too: the error itself must reach the caller."""
    try:
        ledger.finish_run(run, "failed", snapshot=None, message=str(error) or type(error).__name__)
    except duckdb.Error as also:
        _logger.warning("the ledger does not know that the run failed: %s", also, extra={"event": "not_told"})
