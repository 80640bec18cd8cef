"""`build`: one build of a workspace, under the ledger's lock and in its history."""

from pathlib import Path

import duckdb

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
        wait_s: Seconds to wait for another build of the workspace to end.

    Raises:
        SettingsInvalid: A setting is wrong.
        RunAborted: A source, a model or a budget stopped the build.
        SnapshotInvalid: What was written cannot be opened.
    """
    workspace = Path(workspace)
    with Ledger.open(workspace, wait_s) as ledger:
        run = ledger.start_run(settings.name, area)
        try:
            clock = StageClock(progress or SilentProgress())
            report = Build(
                settings,
                workspace,
                store or SnapshotStore(workspace, settings.name, area),
                ledger,
                run,
                execution or DirectExecution(),
                clock,
                area,
            ).run_all(force)
        except (OSError, duckdb.Error) as error:
            ledger.finish_run(run, "failed", snapshot=None, message=str(error))
            raise RunAborted(f"the workspace {workspace} could not be written: {error}") from error
        except BaseException as error:
            ledger.finish_run(run, "failed", snapshot=None, message=str(error) or type(error).__name__)
            raise
        finally:
            close_encoders()
        ledger.finish_run(
            run,
            report.outcome,
            snapshot=report.snapshot.name,
            message="; ".join(report.held),
        )
        return report
