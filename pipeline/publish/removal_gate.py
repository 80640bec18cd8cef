"""The removal gate: a source that answers with a part of its tools, or with none, must not empty the catalog."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.ledger import KnownSource
from pipeline.publish.quality_gate import setting
from pipeline.sentences import named
from pipeline.settings import PublishSettings, SourceSettings
from pipeline.sources import Gap
from pipeline.sources.naming import name_of, origin_of

_FEWEST = 3  # removed tools: one of a small source is a large share, and no sign of a fault
_NAMED = 5


@dataclass(frozen=True, slots=True)
class ServedSource:
    """The serving tools of one source. `listed` says whether the catalog still names it."""

    source: str
    tools: frozenset[str]
    listed: bool = True


def served_sources(
    origins: Mapping[str, str],
    known: Sequence[KnownSource],
    sources: Sequence[SourceSettings],
    gaps: Sequence[Gap],
) -> list[ServedSource]:
    """Return the serving tools by source, without those of skipped sources.

    Args:
        origins: The file that each serving tool was read from, by tool id.
        known: What the sources gave when they were last read well. It tells apart sources that share an origin, such as
            the servers that one program starts; other tools go by their origin.
        sources: The catalog's sources.
        gaps: Those of them that gave no tool.
    """
    left = dict(origins)
    names = {name for source in sources for name in (name_of(source), origin_of(source))}
    skipped = {mark for gap in gaps if gap.skipped for mark in (gap.key, gap.origin)}
    found: list[ServedSource] = []
    for one in known:
        tools = frozenset(tool_id for tool_id in one.tool_ids if left.pop(tool_id, None) is not None)
        if one.key not in skipped:
            found.append(ServedSource(one.source, tools, one.source in names))
    by_origin: dict[str, set[str]] = {}
    for tool_id, origin in left.items():
        by_origin.setdefault(origin, set()).add(tool_id)
    found += [
        ServedSource(origin, frozenset(tools), origin in names)
        for origin, tools in by_origin.items()
        if origin not in skipped
    ]
    return sorted((one for one in found if one.tools), key=lambda one: one.source)


def removal_reasons(
    settings: PublishSettings, served: Sequence[ServedSource], tool_ids: Collection[str]
) -> tuple[str, ...]:
    """Return the reasons against serving a snapshot of `tool_ids`, which lacks too many of the tools that serve."""
    limit = settings.max_removed_share
    allowed = f"{setting('max_removed_share')} allows {limit:.1%}"
    reasons, told = [], 0
    for one in served:
        removed = sorted(one.tools.difference(tool_ids))
        if _too_many(len(removed), len(one.tools), limit):
            what = "lost" if one.listed else "is no longer in the catalog and takes with it"
            told += len(removed)
            reasons.append(
                f"the source {one.source} {what} {len(removed):,} of its {len(one.tools):,} serving tools: "
                f"{named(removed, _NAMED)}; {allowed}"
            )
    everything = frozenset[str]().union(*(one.tools for one in served))
    removed = sorted(everything.difference(tool_ids))
    if len(removed) > told and _too_many(len(removed), len(everything), limit):
        lost = f"{len(removed):,} of all {len(everything):,} serving tools were removed"
        reasons.append(f"{lost}: {named(removed, _NAMED)}; {allowed}")
    return tuple(reasons)


def _too_many(removed: int, served: int, limit: float) -> bool:
    return removed >= _FEWEST and removed / served > limit
