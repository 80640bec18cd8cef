"""What a build would do and cost. The catalog is read; no model is asked; at most an empty ledger is written."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline import records, sources
from pipeline.build.assessing import CHECKS_VERSION
from pipeline.build.publishing import begin, signer_of, store_of
from pipeline.build_state import SERVING_AREA, MissingTools, serving_folder
from pipeline.enrichment.chain import generators
from pipeline.enrichment.estimate import Estimate, estimate
from pipeline.errors import RunAborted
from pipeline.inspection.served_tools import ServedTools
from pipeline.ledger import Ledger
from pipeline.progress import Progress, SilentProgress
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.sources.coverage import Coverage, by_source
from pipeline.sources.last_reading import LastReading, StaleSource
from router.store import StoreUnavailable


@dataclass(frozen=True)
class Plan:
    """The plan of a build.

    `new`, `changed`, `unchanged` and `removed` count tools against the snapshot `serving` (None where none serves),
    `rejected` the records that would be rejected. `estimate` is what the model's part would take; `mode` ("direct" or
    "batch") and `max_cost_usd` are those of the settings. `coverage` says how much of each source was read, `missing`
    names the sources that gave no tool, `stale` those that could not be read and keep their last known records.
    """

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
    missing: MissingTools = field(default_factory=MissingTools)
    stale: tuple[StaleSource, ...] = ()

    @property
    def not_read(self) -> dict[str, Any]:
        """Return how many sources were not read, the tools known of them, and the price to ask about all, if known."""
        known = [*(stale.tools for stale in self.stale), *(gap.serving for gap in self.missing.skipped)]
        each = (self.estimate.cost_usd or 0) / max(self.estimate.questions, 1)
        return {"sources": len(known), "tools": sum(known), "cost_usd": each * sum(known) or None}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        fields = {**asdict(self), "not_read": self.not_read}
        del fields["missing"], fields["stale"]
        coverage = {name: source.to_json() for name, source in by_source(self.coverage).items()}
        stale = [source.to_json() for source in self.stale]
        return {**fields, "coverage": coverage, **self.missing.to_json(), "stale_sources": stale}


def plan(settings: CatalogSettings, *, workspace: Path = DEFAULT_WORKSPACE, progress: Progress | None = None) -> Plan:
    """Return what `build` would do. It runs no command, and sends no variable that is not allowed yet.

    Such sources count by their last known records.

    Raises SettingsInvalid or RunAborted as it would.
    """
    workspace, progress = Path(workspace), progress or SilentProgress()
    store = store_of(settings, workspace, SERVING_AREA, progress)
    try:
        begin(store, writes=False)
        serving = serving_folder(store)
    except StoreUnavailable as error:
        raise RunAborted(str(error)) from error
    signer_of(settings)
    progress.start("read", None)
    only_allowed = settings.sources.model_copy(update={"run_commands": False})
    settings = settings.model_copy(update={"sources": only_allowed})

    def last_reading(key: str) -> LastReading | None:
        # The ledger is opened for each: sources may take minutes, and a build must not wait for them.
        with Ledger.open(workspace, tell=progress.note) as ledger:
            return ledger.source_readings(settings.name, SERVING_AREA, serving, progress.note).find(key)

    reading = sources.read(settings, last_reading=last_reading)
    catalog = records.catalog_records(reading.tools)
    if not catalog.records:
        raise reading.no_tool(settings.name, reading.rejected)
    progress.start("estimate", None)
    with Ledger.open(workspace, tell=progress.note) as ledger:
        chain = generators(settings, ledger, progress, catalog)
        estimated = estimate(
            catalog, chain, settings.enrichment, ledger, assessed=settings.assesses, checks=CHECKS_VERSION
        )
    served = ServedTools.read(serving, catalog.former_ids)
    difference = served.difference(catalog.hashes)
    return Plan(
        catalog=settings.name,
        serving=difference.snapshot,
        new=len(difference.added),
        changed=len(difference.changed),
        unchanged=len(catalog.hashes) - len(difference.added) - len(difference.changed),
        removed=len(difference.removed),
        rejected=len(reading.rejected),
        model=settings.enrichment.model,
        mode=settings.enrichment.mode,
        max_cost_usd=settings.enrichment.max_cost_usd,
        estimate=estimated,
        missing=served.missing(reading, catalog.hashes),
        stale=reading.stale,
        coverage=reading.coverage,
    )
