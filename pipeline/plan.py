"""What a build would do and cost, before anything is spent: the catalog is read, no model is asked, nothing is written
but an empty ledger where there was none."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline import records, sources
from pipeline.enrichment.chain import generators
from pipeline.enrichment.estimate import Estimate, estimate
from pipeline.errors import RunAborted, SnapshotInvalid
from pipeline.execution import Direct
from pipeline.inspection.reading import Inspection
from pipeline.ledger import Ledger
from pipeline.progress import Progress, Silent
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.sources.coverage import Coverage, by_source, why_no_tool
from router.store import SnapshotStore


@dataclass(frozen=True)
class Plan:
    """Tools of the catalog against the snapshot that serves (None where none does), records that would be rejected, and
    what the model's part would take. `mode`, "direct" or "batch", and `max_cost_usd` are those of the settings;
    `coverage` says what of each source was read."""

    catalog: str
    serving: str | None
    new: int
    changed: int
    unchanged: int
    removed: int
    rejected: int
    model: str
    mode: str
    max_cost_usd: float | None
    estimate: Estimate
    coverage: tuple[Coverage, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {**asdict(self), "coverage": {name: one.to_json() for name, one in by_source(self.coverage).items()}}


def plan(settings: CatalogSettings, *, workspace: Path = DEFAULT_WORKSPACE, progress: Progress | None = None) -> Plan:
    """What `build` would find and ask. Raises SettingsInvalid or RunAborted as it would."""
    progress = progress or Silent()
    progress.start("read", None)
    reading = sources.read(settings, Direct())
    catalog = records.catalog_records(reading.tools)
    if not catalog.records:
        raise RunAborted(
            f"the catalog {settings.name!r} holds no tool{why_no_tool(reading.coverage, reading.rejected)}"
        )
    progress.start("estimate", None)
    with Ledger.open(workspace) as ledger:
        chain = generators(settings, ledger, progress.note)
        expected = estimate(catalog, chain, settings.enrichment, ledger, assessed=settings.assesses)
    serving, before = _serving(SnapshotStore(Path(workspace), settings.name))
    known = {tool_id: before[tool_id] == digest for tool_id, digest in catalog.hashes.items() if tool_id in before}
    return Plan(
        catalog=settings.name,
        serving=serving,
        new=len(catalog.hashes) - len(known),
        changed=sum(not same for same in known.values()),
        unchanged=sum(known.values()),
        removed=len(before) - len(known),
        rejected=len(reading.rejected),
        model=settings.enrichment.model,
        mode=settings.enrichment.mode,
        max_cost_usd=settings.enrichment.max_cost_usd,
        estimate=expected,
        coverage=reading.coverage,
    )


def _serving(store: SnapshotStore) -> tuple[str | None, Mapping[str, str]]:
    """The snapshot that serves, and the hash of each of its records by tool id."""
    try:
        with Inspection.open(store.folder) as inspection:
            return inspection.folder.name, inspection.record_hashes()
    except SnapshotInvalid:
        return None, {}
