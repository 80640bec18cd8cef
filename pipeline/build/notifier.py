"""Notifies of a build when it ends, however it ends: the end of the `with` block gathers what is told."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pipeline.build.report import BuildReport
from pipeline.current_run import running, set_run
from pipeline.failure import Failure, attach, attached
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.monitoring import MonitoredRun, announce, hook_secrets, secrets_of
from pipeline.publish import serving_folder, use_command
from pipeline.settings import CatalogSettings
from pipeline.settings.loading import monitoring_of
from pipeline.sources.transport.approval import catalog_command, not_approved
from pipeline.store import WritableStore

_SERVING_AREA = "snapshots"
_GOOD = ("published", "unchanged")


class BuildNotifier:
    """One build. Its block is the current run of log records; experiments in another area are not announced."""

    def __init__(self, settings: CatalogSettings, workspace: Path, store: WritableStore, area: str) -> None:
        self.seconds: Mapping[str, float] = {}
        self._settings = settings
        self._workspace = workspace
        self._store = store
        self._area = area
        self._secrets = secrets_of(settings)
        self._known: dict[str, Any] = {}
        self._ledger: Ledger | None = None
        self._report: BuildReport | None = None
        self._context = ExitStack()

    def __enter__(self) -> Self:
        self._started_at = datetime.now(UTC)
        self._context.enter_context(running(self._settings.name, self._secrets))
        return self

    def began(self, ledger: Ledger, run: int) -> None:
        """Take over what the ledger knows of this run and of those before."""
        set_run(run)
        self._ledger = ledger
        name = self._settings.name
        self._known = {
            "run": run,
            "previous": ledger.previous_outcome(run, name, self._area),
            "succeeded_at": ledger.last_end(name, self._area, _GOOD),
            "published_at": ledger.last_end(name, self._area, ("published",)),
        }

    def ended(self, report: BuildReport) -> None:
        """Take over how the build ended."""
        self._report = report

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._context:
            if self._area != _SERVING_AREA:
                return
            run = self._run(error)
            if error is not None:
                attach(run, error)
            announce(run, self._settings.notify, self._settings.metrics, self._settings.folder)

    def _run(self, error: BaseException | None) -> MonitoredRun:
        now = datetime.now(UTC)
        known = self._known | {
            "started_at": self._started_at,
            "finished_at": now,
            "seconds": self.seconds,
            "secrets": self._secrets,
            "ledger_bytes": _size(self._workspace / LEDGER_FILE),
            "snapshot_bytes": self._serving_bytes(),
        }
        report = self._report
        if error is not None or report is None:
            failure = Failure.of(error) if error is not None else None
            # A ledger is restored once: the next build knows nothing of what was lost.
            degraded = self._ledger.problems if self._ledger is not None else ()
            return MonitoredRun(self._settings.name, "failed", failure=failure, degraded=degraded, **known)
        if report.outcome in _GOOD and not report.held:
            known["succeeded_at"] = now
        if report.outcome == "published":
            known["published_at"] = now
        return MonitoredRun(
            self._settings.name,
            report.outcome,
            snapshot=report.snapshot.name,
            held=report.held,
            quarantined=tuple(map(str, report.newly_quarantined)),
            use_command=use_command(report.snapshot) if report.held else "",
            degraded=report.degraded,
            stale=stale_sources(report),
            counts=_counts(report),
            asked=report.asked,
            cost_usd=report.usage.cost_usd,
            **known,
        )

    def _serving_bytes(self) -> int | None:
        try:
            return _size(serving_folder(self._store))
        except OSError:  # of a store elsewhere
            return None


@contextmanager
def failures_announced(path: Path) -> Iterator[None]:
    """Announce an error that leaves the block, unless a build has: settings that cannot be loaded, a flow's server.

    `path` is the catalog's, as far as it is one. A command of the hook is called if the user has allowed it.
    Put the loading of settings and the build into the block.
    """
    started_at = datetime.now(UTC)
    try:
        yield
    except BaseException as error:
        if attached(error) is None:
            name, notify, metrics = monitoring_of(path)
            folder = path if path.is_dir() else path.parent
            # The settings may be refused because nobody has allowed their commands yet.
            if notify.command and not_approved([catalog_command(notify.command, folder)]):
                notify = notify.model_copy(update={"command": None})
            run = MonitoredRun(
                name,
                "failed",
                started_at,
                datetime.now(UTC),
                failure=Failure.of(error),
                secrets=hook_secrets(notify),
            )
            attach(run, error)
            with running(name, run.secrets):
                announce(run, notify, metrics, folder)
        raise


def stale_sources(report: BuildReport) -> tuple[str, ...]:
    """Return the names of the sources that this build could not read anew."""
    return (*(stale.source for stale in report.stale_sources), *(gap.source for gap in report.missing.skipped))


def _counts(report: BuildReport) -> dict[str, int]:
    return {
        **report.counts,
        "added": len(report.added),
        "changed": len(report.changed),
        "removed": len(report.removed_tools),
        "quarantined": len(report.quarantined),
        "failures": sum(not failure.postponed for failure in report.failures),
        "postponed": sum(failure.postponed for failure in report.failures),
    }


def _size(place: Path | None) -> int | None:
    """Return the bytes of a file, or of all files in a folder; None where it is not there."""
    if place is None or not place.exists():
        return None
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    size = 0
    for file in files:
        with suppress(OSError):  # another build may remove it meanwhile
            size += file.stat().st_size
    return size
