"""Announces a build when it ends, however it ends."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pipeline.build_state import SERVING_AREA, BuildContext, serving_folder
from pipeline.current_run import running
from pipeline.failure import Failure, attach, attached
from pipeline.ledger import LEDGER_FILE
from pipeline.monitoring import MonitoredRun, announce, hook_secrets, secrets_of
from pipeline.monitoring.run import failed_report
from pipeline.monitoring.told import told_file
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.settings.loading import monitoring_of
from pipeline.sources.transport.approval import allowed_hook
from pipeline.store import WritableStore

_GOOD = ("published", "unchanged")


@contextmanager
def announced(settings: CatalogSettings, workspace: Path, store: WritableStore, area: str) -> Iterator[MonitoredRun]:
    """Yield the run of a build, which is that of log records in the block, and announce it at the end.

    The block fills the run in. Experiments in another area than the default are not announced.
    """
    run = MonitoredRun(settings.name, secrets=secrets_of(settings))
    with running(run):
        try:
            yield run
        except BaseException as error:
            report, run.failure = run.report, Failure.of(error)
            run.report = failed_report(report.degraded, report.usage.cost_usd)
            if area == SERVING_AREA:
                attach(run, error)
            raise
        finally:
            if area == SERVING_AREA:
                _finish(run, workspace, store)
                file = told_file(settings.folder, settings.name, workspace)
                announce(run, settings.notify, settings.metrics, settings.folder, file)


def begin_run(run: MonitoredRun, context: BuildContext) -> None:
    """Take over what the ledger knows of this run and of those before."""
    ledger, name = context.ledger, context.settings.name
    run.run, run.report = context.run, failed_report(ledger.problems)
    run.previous = ledger.previous_outcome(context.run, name, context.area)
    run.succeeded_at = ledger.last_end(name, context.area, _GOOD)
    run.published_at = ledger.last_end(name, context.area, ("published",))


def _finish(run: MonitoredRun, workspace: Path, store: WritableStore) -> None:
    run.finished_at = datetime.now(UTC)
    run.ledger_bytes = _size(workspace / LEDGER_FILE)
    with suppress(OSError):  # of a store elsewhere
        run.snapshot_bytes = _size(serving_folder(store))
    if run.report.outcome in _GOOD and not run.report.held:
        run.succeeded_at = run.finished_at
    if run.report.outcome == "published":
        run.published_at = run.finished_at


@contextmanager
def failures_announced(path: Path, workspace: Path = DEFAULT_WORKSPACE, *, allow: bool = False) -> Iterator[None]:
    """Announce an error that leaves the block, unless a build has: settings that cannot be loaded, a flow's server.

    `path` is the catalog's, as far as it is one, and `workspace` that of the build. The hook is called as far as the
    user has allowed it, or all of it with `allow`. Put the loading of settings and the build into the block.
    """
    started_at = datetime.now(UTC)
    try:
        yield
    except BaseException as error:
        if attached(error) is None:
            name, notify, metrics = monitoring_of(path)
            folder = path if path.is_dir() else path.parent
            if not allow:  # the settings may be refused because nobody has allowed it yet
                notify = allowed_hook(notify, folder)
            failure = Failure.of(error)
            run = MonitoredRun(name, secrets=hook_secrets(notify), started_at=started_at, failure=failure)
            attach(run, error)
            with running(run):
                file = told_file(path.parent if path.is_file() else path, name, workspace)
                announce(run, notify, metrics, folder, file)
        raise


def _size(place: Path | None) -> int | None:
    """Return the bytes of a file, or of all files in a folder; None where it is not there."""
    if place is None or not place.exists():
        return None
    size = 0
    for file in (place, *place.rglob("*")):
        with suppress(OSError):  # another build may remove it meanwhile
            size += file.stat().st_size if file.is_file() else 0
    return size
