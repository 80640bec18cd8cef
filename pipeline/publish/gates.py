"""The gates that need no snapshot: limits on what a build skipped, rejected, failed on or removed.

A held snapshot is written and kept.
"""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.build_state import MissingTools
from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import NO_KEY_SET, FileGenerator
from pipeline.enrichment.context import PERSON
from pipeline.ledger import KnownSource
from pipeline.records import Catalog
from pipeline.sentences import named
from pipeline.settings import (
    DEFAULT_WORKSPACE,
    AssessmentSettings,
    CatalogSettings,
    EnrichmentSettings,
    PublishSettings,
    SourceSettings,
)
from pipeline.sources import Gap
from pipeline.sources.naming import name_of, origin_of

_FEWEST = 3  # lost tools: one or two are a large share of a small source, and no sign of a fault
_LONGEST_CAUSE = 300
_NAMED = 5
_BY_RULE = "lexicon"  # wrote phrases in snapshots of earlier versions, which nobody misses


def setting(name: str) -> str:
    """Return a setting of the gate as it is written in catalog.toml and, for a bare file, in the environment."""
    return f"publish.{name} (QUARTERMASTER_PUBLISH__{name.upper()})"


def use_command(snapshot: Path) -> str:
    """Return the command that lets a held snapshot serve. `snapshot` is its folder in a workspace."""
    workspace = snapshot.parent.parent.parent
    place = "" if workspace == DEFAULT_WORKSPACE else f" --workspace {shlex.quote(str(workspace))}"
    return f"quartermaster snapshots {shlex.quote(snapshot.parent.name)} --use {snapshot.name}{place}"


def hold_reasons(
    settings: PublishSettings, catalog: Catalog, read: int, rejected: int, enrichment: Enrichment, missing: MissingTools
) -> tuple[str, ...]:
    """Return which shares are too large: of skipped sources, rejected records, tools that failed or were not asked.

    `read` and `rejected` count records.
    """
    tools = len(catalog.records)
    # A tool that another model or file had an answer for did not fail.
    postponed = {failure.tool_id for failure in enrichment.failures if failure.postponed} - enrichment.written.keys()
    faults = {failure.tool_id for failure in enrichment.failures if not failure.postponed}
    failed = faults - enrichment.written.keys() - postponed
    lost = sum(gap.serving for gap in missing.skipped)
    shares = (
        ("{:.1%} of the sources were skipped", len(missing.skipped) / max(missing.sources, 1), "max_skipped_share"),
        ("{:.1%} of the serving tools came from skipped sources", lost / max(missing.serving, 1), "max_skipped_share"),
        ("{:.1%} of the records were rejected", rejected / max(read + rejected, 1), "max_rejected_share"),
        ("enrichment failed for {:.1%} of the tools", len(failed) / tools, "max_failed_share"),
        ("{:.1%} of the tools were not asked about yet", len(postponed) / tools, "max_postponed_share"),
    )
    return tuple(
        f"{what.format(share)}; {setting(name)} allows {limit:.1%}"
        for what, share, name in shares
        if share > (limit := getattr(settings, name))
    )


def lost_phrases_reasons(
    settings: CatalogSettings, tool_ids: Sequence[str], enrichment: Enrichment, serving: Mapping[str, str]
) -> tuple[str, ...]:
    """Return why a snapshot must not serve yet: too large a share of the tools would lose their phrases.

    The share is of the catalog's tools, `tool_ids`, that have the words of a model or of a file in the snapshot that
    serves. `serving` has the generator of each serving tool.
    """
    before = {tool_id: name for tool_id, name in serving.items() if name not in (_BY_RULE, PERSON)}
    written = [tool_id for tool_id in tool_ids if tool_id in before]
    generated = {tool_id for tool_id, by in enrichment.written.items() if by.generated}
    fallen = [tool_id for tool_id in written if tool_id not in generated]
    limit = settings.publish.max_downgraded_share
    if len(fallen) < _FEWEST or len(fallen) <= limit * len(written):
        return ()
    cause = _cause(settings.enrichment, fallen, before, enrichment)
    return (
        f"{len(fallen):,} of the {len(written):,} tools that a model or a file wrote for would lose their phrases: "
        f"{named(fallen)}. {cause}; {setting('max_downgraded_share')} allows {limit:.1%}",
    )


def _cause(
    settings: EnrichmentSettings, fallen: Sequence[str], before: Mapping[str, str], enrichment: Enrichment
) -> str:
    """Return the likely cause in words."""
    if Counter(before[tool_id] for tool_id in fallen).most_common(1)[0][0] == FileGenerator.name:
        if settings.expansions is None:
            return "There is no file of expansions any more (enrichment.expansions)"
        return f"{settings.expansions.name} has no usable line for them any more"
    if settings.generator == "none":
        return "enrichment.generator (--generator) is none"
    names = set(fallen)
    messages = Counter(failure.message for failure in enrichment.failures if failure.tool_id in names)
    if messages:
        return " ".join(messages.most_common(1)[0][0].split())[:_LONGEST_CAUSE].rstrip(".")
    if not settings.reaches_model:
        return NO_KEY_SET[0].upper() + NO_KEY_SET[1:]
    return "The ledger has no answer about them that passes the checks"


@dataclass(frozen=True, slots=True)
class ServedSource:
    """The serving tools of one source. `listed` says whether the catalog still names it."""

    source: str
    tools: frozenset[str]
    listed: bool = True


def served_sources(
    origins: Mapping[str, str], known: Sequence[KnownSource], sources: Sequence[SourceSettings], gaps: Sequence[Gap]
) -> list[ServedSource]:
    """Return the serving tools by source, without those of skipped sources.

    Args:
        origins: The file that each serving tool was read from, by tool id.
        known: What the sources gave when they were last read well. It separates sources that share an origin, such as
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
    for origin, ids in by_origin.items():
        if origin not in skipped:
            found.append(ServedSource(origin, frozenset(ids), origin in names))
    return sorted((one for one in found if one.tools), key=lambda one: one.source)


def removal_reasons(
    settings: PublishSettings, served: Sequence[ServedSource], tool_ids: Collection[str]
) -> tuple[str, ...]:
    """Return the reasons against serving a snapshot of `tool_ids`, which lacks too many of the tools that serve."""
    limit = settings.max_removed_share
    allowed = f"{setting('max_removed_share')} allows {limit:.1%}"
    reasons, counted = [], 0
    for one in served:
        removed = sorted(one.tools.difference(tool_ids))
        if _too_many(len(removed), len(one.tools), limit):
            what = "lost" if one.listed else "is no longer in the catalog and takes with it"
            counted += len(removed)
            reasons.append(
                f"the source {one.source} {what} {len(removed):,} of its {len(one.tools):,} serving tools: "
                f"{named(removed, _NAMED)}; {allowed}"
            )
    everything = frozenset[str]().union(*(one.tools for one in served))
    removed = sorted(everything.difference(tool_ids))
    if len(removed) > counted and _too_many(len(removed), len(everything), limit):
        lost = f"{len(removed):,} of all {len(everything):,} serving tools were removed"
        reasons.append(f"{lost}: {named(removed, _NAMED)}; {allowed}")
    return tuple(reasons)


def steering_reasons(settings: AssessmentSettings, steered: Sequence[str], tools: int) -> tuple[str, ...]:
    """Return why a first snapshot must not serve yet: too many of its records `steered` the model, in every source."""
    if not steered:
        return ()
    return (
        f"{len(steered):,} of {tools:,} records made the model write phrases of other tools: {named(steered, _NAMED)}. "
        "Read their descriptions, and take out the source that they are from; assessment.max_share "
        f"(QUARTERMASTER_ASSESSMENT__MAX_SHARE) allows {settings.max_share:.1%} of a source",
    )


def _too_many(removed: int, served: int, limit: float) -> bool:
    return removed >= _FEWEST and removed / served > limit
