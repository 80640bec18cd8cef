"""`build`: the stages of a build in order, under the ledger's lock, in its history, and announced when it has ended."""

import errno
import gc
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock

import duckdb

from pipeline.build.expanding import expand
from pipeline.build.identifying import find_unchanged, identify
from pipeline.build.notifier import announced, begin_run
from pipeline.build.publishing import (
    accept_readings,
    begin,
    note_missing_signature,
    publish,
    signer_of,
    store_of,
    tidy_up,
)
from pipeline.build.quarantining import quarantine
from pipeline.build.reading import read
from pipeline.build.report import BuildReport, make_report, put_counts
from pipeline.build.writing import write
from pipeline.build_state import SERVING_AREA, BuildContext
from pipeline.errors import RunAborted
from pipeline.execution import DirectExecution, Execution
from pipeline.ledger import LEDGER_FILE, Ledger, explained
from pipeline.memo import Memo
from pipeline.monitoring import MonitoredRun
from pipeline.monitoring.run import failed_report
from pipeline.progress import Progress, SilentProgress, StageClock
from pipeline.scratch import ScratchFolder
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.store import WritableStore
from pipeline.vectors.embedding import close_encoders
from router.store import StoreChanged, StoreUnavailable

_logger = logging.getLogger(__name__)

_YOUNG_OBJECTS = 200_000  # that may be made between two looks
_thresholds_found: list[tuple[int, int, int]] = []  # by the builds that run
_changing_thresholds = Lock()
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def build(
    settings: CatalogSettings,
    *,
    workspace: Path = DEFAULT_WORKSPACE,
    force: bool = False,
    area: str = SERVING_AREA,
    store: WritableStore | None = None,
    progress: Progress | None = None,
    execution: Execution | None = None,
    wait_s: float = 0.0,
) -> BuildReport:
    """Build a catalog's snapshot and publish it, unless nothing changed or a gate holds it back.

    Whatever happens, the snapshot that was serving goes on serving. How it ended is logged, measured and sent to the
    hook, as the settings say; an experiment in another area is not.

    Args:
        settings: The catalog's settings, as `pipeline.settings.load` returns them.
        workspace: The folder of the ledger and the snapshots.
        force: Write a snapshot even if nothing changed.
        area: A folder in the workspace, where `store` is None. Another than the default keeps an experiment apart from
            what serves.
        store: Where the snapshot goes; by default the bucket that the settings name, else the catalog's folder in
            `area`.
        progress: Hears of each stage.
        execution: Carries out the stages: called directly, or each as a task of a flow.
        wait_s: Seconds to wait for another build of the workspace, or a program that reads its ledger, to end.

    Raises:
        SettingsInvalid: A setting is wrong.
        RunAborted: A source, a model, a budget or the bucket stopped the build.
        SnapshotInvalid: What was written cannot be opened.
    """
    workspace = Path(workspace)
    clock = StageClock(progress or SilentProgress())
    store = store or store_of(settings, workspace, area, clock)
    execution = execution or DirectExecution()
    with announced(settings, workspace, store, area) as monitored, _rare_collections():
        try:
            signer = signer_of(settings)  # before anything is paid for
            with (
                Ledger.open(workspace, wait_s, tell=clock.note) as ledger,
                ScratchFolder.open(workspace) as scratch,
                Memo.of_catalog(workspace, settings.name, clock.note) as memo,
            ):
                begin(store)  # after a build that this one waited for
                for killed in ledger.close_killed_runs():
                    clock.note(f"run {killed} had been killed: it is closed, and what it paid for is kept")
                ledger.spill_into(scratch.path / "spilled")
                run = ledger.start_run(settings.name, area)
                context = BuildContext(
                    settings, workspace, store, ledger, run, execution, clock, scratch, area, signer, memo
                )
                monitored.report = _run(context, monitored, force)
                return monitored.report
        except (StoreUnavailable, StoreChanged) as error:
            raise RunAborted(str(error)) from error
        except OSError as error:
            if not _is_of(workspace, error):
                raise
            raise RunAborted(f"the workspace {workspace} could not be written: {error}") from error
        except duckdb.Error as error:
            ours = explained(error, workspace / LEDGER_FILE)
            raise ours if isinstance(ours, RunAborted) else RunAborted(str(ours)) from error


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for cycles of references seldom: it would walk the records of a catalog again and again.

    Of builds that overlap in one process, the last to end restores what the first found.
    """
    with _changing_thresholds:
        young, *older = found = gc.get_threshold()
        _thresholds_found.append(found)
        gc.set_threshold(young and max(young, _YOUNG_OBJECTS), *older)
    try:
        yield
    finally:
        with _changing_thresholds:
            gc.set_threshold(*_thresholds_found.pop())


def _run(context: BuildContext, monitored: MonitoredRun, force: bool) -> BuildReport:
    """Run the stages of a build whose run is open in the ledger, and close the run however they end."""
    ledger, run, clock, settings = context.ledger, context.run, context.clock, context.settings
    begin_run(monitored, context)
    try:
        ledger.back_up(settings.ledger, run, clock.note)  # after a build that was killed
        report = run_stages(context, force)
    except BaseException as error:
        cost = _close_failed(ledger, run, str(error) or type(error).__name__)
        if isinstance(error, Exception):  # not where somebody waits for the end
            ledger.back_up(settings.ledger, run, clock.note)
        # A ledger is restored once: the next build knows nothing of what was lost.
        monitored.report = failed_report(ledger.problems, cost)
        raise
    finally:
        clock.stop()
        monitored.seconds = clock.seconds
        close_encoders()
    return _closed(context, report)


def run_stages(context: BuildContext, force: bool) -> BuildReport:
    """Run all stages; `force` writes a snapshot though nothing changed. Raises as `build` does."""
    state = read(context)
    expand(context, state)
    quarantine(context, state)
    put_counts(context, state)  # what was paid lasts, whatever the gates meet
    identify(context, state)
    put_counts(context, state)
    unchanged = not force and find_unchanged(context, state)
    if not unchanged:
        write(context, state)
    # Before it serves, so that a build that is killed between the two has not forgotten what the sources gave.
    name, is_held = state.snapshot.name, state.outcome == "held"
    context.last_readings.store(context.run, state.reading.by_source, name, held=is_held)
    if unchanged:
        note_missing_signature(context, state)
    else:
        publish(context, state)
    accept_readings(context, state)
    tidy_up(context, state)
    if any(not one.announced for one in state.quarantined):
        context.ledger.quarantine.mark_announced(context.settings.name, context.area)
    context.clock.stop()
    return make_report(context, state)


def _closed(context: BuildContext, report: BuildReport) -> BuildReport:
    """Close a run that ended well, and return its report, which says so where the ledger could not be written."""
    ledger, run, known = context.ledger, context.run, set(context.ledger.problems)
    try:
        ledger.put_degraded(run, report.degraded)
        ledger.finish_run(run, report.outcome, snapshot=report.snapshot.name, message="; ".join(report.held))
    except duckdb.Error as error:
        problem = f"run {run} could not be closed in the ledger: {' '.join(str(error).split())}"
        return replace(report, degraded=(*report.degraded, problem))
    ledger.back_up(context.settings.ledger, run, context.clock.note)
    return replace(report, degraded=(*report.degraded, *(one for one in ledger.problems if one not in known)))


def _close_failed(ledger: Ledger, run: int, message: str) -> float | None:
    """Close a run that failed, and return its cost; None where it stays open, as on a full disk, for the next build."""
    try:
        ledger.finish_run(run, "failed", snapshot=None, message=message)
        return ledger.history.cost(run)
    except duckdb.Error as error:
        fields = {"event": "not_told"}
        _logger.warning("run %s could not be closed; the next build closes it: %s", run, error, extra=fields)
        return None


def _is_of(workspace: Path, error: OSError) -> bool:
    """Return whether an error is of the disk, or of a file of the workspace."""
    named = [Path(os.fsdecode(name)) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    return error.errno in _DISK or any(path.absolute().is_relative_to(workspace.absolute()) for path in named)
