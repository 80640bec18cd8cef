"""What a build went without: each reason is told, and makes the night degraded, though its snapshot may serve."""

from collections import Counter
from collections.abc import Iterator

from pipeline.build.state import CatalogRead, ExpandedCatalog
from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import LedgerOnly
from pipeline.enrichment.context import STALE_BY
from pipeline.sentences import counted, named

_LONGEST = 600  # characters of a server's words


def degradations(read: CatalogRead, expanded: ExpandedCatalog) -> tuple[str, ...]:
    """Return a sentence for each thing that the build went without; empty where it had everything."""
    reasons = []
    if skipped := read.missing.skipped:
        reasons.append(f"{counted(len(skipped), 'source')} could not be read: {named([g.source for g in skipped])}")
    reasons += [f"{stale} keeps its last known records: {stale.reason[:_LONGEST]}" for stale in read.reading.stale]
    reasons += _unasked(read, expanded.enrichment)  # the cause stands before what follows from it
    # An answer that the checks refused is no fault of this night: asked again, the model would say the same.
    faults = (f for f in expanded.enrichment.failures if not f.postponed and f.kind != "rejected")
    failed = [failure.tool_id for failure in faults]
    if failed:
        reasons.append(f"the model has no answer for {counted(len(failed), 'tool')}: {named(failed)}")
    return (*reasons, *_stale(expanded.enrichment))


def _unasked(read: CatalogRead, enrichment: Enrichment) -> Iterator[str]:
    """Yield why the model was asked nothing, or nothing more."""
    if enrichment.unavailable:
        yield f"the model could not be asked: {' '.join(enrichment.unavailable.split())}"
    for generator in read.chain:
        if isinstance(generator, LedgerOnly):
            yield f"the model was {generator.reason}: its earlier answers serve"


def _stale(enrichment: Enrichment) -> Iterator[str]:
    """Yield how many tools keep an earlier expansion, and why.

    One that is kept because the checks refused the newer answer is no fault of this night either.
    """
    refused = {failure.tool_id for failure in enrichment.failures if failure.kind == "rejected"}
    stale = {tool_id: stale for tool_id, stale in enrichment.stale.items() if tool_id not in refused}
    if stale:
        counts = Counter(reason for one in stale.values() for reason in one.reasons)
        why = ", ".join(f"{count:,} {STALE_BY[reason]}" for reason, count in sorted(counts.items()))
        keep = "keep" if len(stale) != 1 else "keeps"
        yield f"{counted(len(stale), 'tool')} {keep} an earlier expansion ({why}): {named(list(stale))}"
