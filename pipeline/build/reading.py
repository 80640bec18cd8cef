"""The first stages of a build: the sources are read, their records normalised, the generators chosen."""

from collections.abc import Sequence

from pipeline import learning, records, sources
from pipeline.build.context import BuildContext
from pipeline.build.state import CatalogRead
from pipeline.enrichment import Generator
from pipeline.enrichment.chain import FileGenerator, generators
from pipeline.errors import RecordRejected
from pipeline.learning import PastRequests
from pipeline.publish.quality_gate import count_missing_tools
from pipeline.sources import Reading
from pipeline.sources.gaps import no_tool


def read_catalog(context: BuildContext) -> CatalogRead:
    """Read and normalise the sources. Raises RunAborted where they hold no tool."""
    settings, clock = context.settings, context.clock
    clock.start("read", None)
    reading = sources.read(settings, context.execution, context.last_readings)
    if note := sources.long_label_note(tool.provider for tool in reading.tools):
        clock.note(note)
    clock.start("normalize", None)
    catalog = context.execution.run("normalize", records.catalog_records, reading.tools)
    chain = generators(settings, context.ledger, clock.note)
    tool_ids = frozenset(record.tool_id for record in catalog.records)
    past = learning.past_requests(settings, tool_ids)
    rejected = _rejected(reading, chain, past, tool_ids)
    skipped = tuple(gap.rejection() for gap in reading.gaps if gap.skipped)
    context.ledger.put_catalog(context.run, settings.name, catalog, (*skipped, *rejected))
    if not catalog.records:
        raise no_tool(settings.name, reading.gaps, reading.sources, rejected, reading.coverage)
    missing = count_missing_tools(reading.gaps, reading.sources, catalog.hashes, context.serving)
    return CatalogRead(reading, catalog, chain, past, rejected, skipped, missing)


def _rejected(
    reading: Reading, chain: Sequence[Generator], past: PastRequests | None, tool_ids: frozenset[str]
) -> tuple[RecordRejected, ...]:
    """Return the records, expansions and past requests that cannot be used."""
    files = [generator for generator in chain if isinstance(generator, FileGenerator)]
    return (
        *reading.rejected,
        *(row for file in files for row in (*file.rejected, *file.unknown(tool_ids))),
        *(past.usage.rejected if past else ()),
    )
