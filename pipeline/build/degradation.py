"""What a build went without: each reason is told, and makes the night degraded, though its snapshot may serve."""

from collections.abc import Sequence

from pipeline.build.state import CatalogRead, ExpandedCatalog

_NAMED = 3


def degradations(read: CatalogRead, expanded: ExpandedCatalog) -> tuple[str, ...]:
    """Return a sentence for each thing that the build went without; empty where it had everything."""
    reasons = []
    if skipped := read.missing.skipped:
        reasons.append(f"{_counted(len(skipped), 'source')} could not be read: {_named([g.source for g in skipped])}")
    if stale := read.reading.stale:
        one = len(stale) == 1
        reasons.append(
            f"{_counted(len(stale), 'source')} could not be read and {'keeps its' if one else 'keep their'} last known "
            f"records: {_named([str(source) for source in stale])}"
        )
    # An answer that the checks refused is no fault of this night: asked again, the model would say the same.
    faults = (f for f in expanded.enrichment.failures if not f.postponed and f.kind != "rejected")
    failed = [failure.tool_id for failure in faults]
    if failed:
        reasons.append(f"the model has no answer for {_counted(len(failed), 'tool')}: {_named(failed)}")
    return tuple(reasons)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
