"""The quality gate: limits on what a build skipped, rejected or failed on. A held snapshot is written and kept."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import NO_KEY_SET, FileGenerator, LexiconGenerator
from pipeline.inspection.served_tools import ServedTools
from pipeline.records import Catalog
from pipeline.sentences import named
from pipeline.settings import CatalogSettings, EnrichmentSettings, PublishSettings
from pipeline.sources import Gap


@dataclass(frozen=True, slots=True)
class MissingTools:
    """Sources without tools, each with the number of serving tools that are missing for it.

    `sources` counts all sources of the catalog, `serving` all tools of the serving snapshot.
    """

    gaps: tuple[Gap, ...] = ()
    sources: int = 1
    serving: int = 0

    @property
    def skipped(self) -> tuple[Gap, ...]:
        """Return the sources that could not be read."""
        return tuple(gap for gap in self.gaps if gap.skipped)

    @property
    def empty(self) -> tuple[Gap, ...]:
        """Return the sources that hold no tool."""
        return tuple(gap for gap in self.gaps if not gap.skipped)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict: the number of sources, and those that were skipped or are empty."""
        return {
            "sources": self.sources,
            "skipped": [gap.to_json() for gap in self.skipped],
            "empty": [gap.to_json() for gap in self.empty],
        }


def count_missing_tools(
    gaps: Sequence[Gap], sources: int, tool_ids: Collection[str], serving: Path | None
) -> MissingTools:
    """Count, for each gap, the tools of the `serving` snapshot that came from it and are not among `tool_ids`."""
    origins = ServedTools.read(serving).origins if gaps else {}
    lost = Counter(origin for tool_id, origin in origins.items() if tool_id not in tool_ids)
    return MissingTools(tuple(replace(gap, serving=lost[gap.origin]) for gap in gaps), sources, len(origins))


_DEFAULT_WORKSPACE = Path(".quartermaster")
_BY_ENVIRONMENT = "QUARTERMASTER_PUBLISH__"  # the way for a bare file, which has no catalog.toml


def hold_reasons(
    settings: PublishSettings,
    catalog: Catalog,
    read: int,
    rejected: int,
    enrichment: Enrichment,
    missing: MissingTools | None = None,
) -> tuple[str, ...]:
    """Return the reasons why a snapshot must not serve yet.

    Too many sources were skipped, records rejected, tools failed on by the model, or tools not asked about yet. `read`
    and `rejected` count records.
    """
    missing = missing or MissingTools()
    tools = len(catalog.records)
    # A tool that another model or file had an answer for is no failure; the lexicon's words are a stopgap.
    answered = {tool_id for tool_id, w in enrichment.written.items() if w.generator != LexiconGenerator.name}
    postponed = {failure.tool_id for failure in enrichment.failures if failure.postponed} - answered
    # An answer that the checks refused is no failure of the model's: asked again, it would say the same.
    faults = {f.tool_id for f in enrichment.failures if not f.postponed and f.kind != "rejected"}
    failed = faults - answered - postponed
    lost = sum(gap.serving for gap in missing.skipped)
    shares = (
        ("{:.1%} of the sources were skipped", len(missing.skipped) / max(missing.sources, 1), "max_skipped_share"),
        (
            "{:.1%} of the serving tools came from skipped sources",
            lost / max(missing.serving, 1),
            "max_skipped_share",
        ),
        ("{:.1%} of the records were rejected", rejected / max(read + rejected, 1), "max_rejected_share"),
        ("enrichment failed for {:.1%} of the tools", len(failed) / tools, "max_failed_share"),
        ("{:.1%} of the tools were not asked about yet", len(postponed) / tools, "max_postponed_share"),
    )
    reasons = []
    for what, share, name in shares:
        limit: float = getattr(settings, name)
        if share > limit:
            reasons.append(f"{what.format(share)}; {setting(name)} allows {limit:.1%}")
    return tuple(reasons)


def setting(name: str) -> str:
    """Return a setting of the gate as it is written in catalog.toml and in the environment."""
    return f"publish.{name} ({_BY_ENVIRONMENT}{name.upper()})"


def use_command(snapshot: Path) -> str:
    """Return the command that lets a held snapshot serve. `snapshot` is its folder in a workspace."""
    workspace = snapshot.parent.parent.parent
    place = "" if workspace == _DEFAULT_WORKSPACE else f" --workspace {shlex.quote(str(workspace))}"
    return f"quartermaster snapshots {shlex.quote(snapshot.parent.name)} --use {snapshot.name}{place}"


_FEWEST = 3  # tools: fewer hold nothing back, however small the catalog
_LONGEST_CAUSE = 300


def lost_phrases_reasons(
    settings: CatalogSettings, tool_ids: Sequence[str], enrichment: Enrichment, serving: Mapping[str, str]
) -> tuple[str, ...]:
    """Return why a snapshot must not serve yet: too large a share of the tools would fall to the lexicon or to nothing.

    The share is of the catalog's tools, `tool_ids`, that have the words of a model or of a file in the snapshot that
    serves. `serving` has the generator of each serving tool.
    """
    before = {tool_id: name for tool_id, name in serving.items() if name != LexiconGenerator.name}
    written = [tool_id for tool_id in tool_ids if tool_id in before]
    fallen = [tool_id for tool_id in written if not _has_words(enrichment, tool_id)]
    limit = settings.publish.max_downgraded_share
    if len(fallen) < _FEWEST or len(fallen) <= limit * len(written):
        return ()
    cause = _cause(settings.enrichment, fallen, before, enrichment)
    return (
        f"{len(fallen):,} of the {len(written):,} tools that a model or a file wrote for would fall to the lexicon's "
        f"words or to none: {named(fallen)}. {cause}; {setting('max_downgraded_share')} allows {limit:.1%}",
    )


def _has_words(enrichment: Enrichment, tool_id: str) -> bool:
    written = enrichment.written.get(tool_id)
    return written is not None and written.generator != LexiconGenerator.name


def _cause(
    settings: EnrichmentSettings, fallen: Sequence[str], before: Mapping[str, str], enrichment: Enrichment
) -> str:
    """Return the likely cause in words."""
    if Counter(before[tool_id] for tool_id in fallen).most_common(1)[0][0] == FileGenerator.name:
        if settings.expansions is None:
            return "There is no file of expansions any more (enrichment.expansions)"
        return f"{settings.expansions.name} has no usable line for them any more"
    if settings.generator in ("lexicon", "none"):
        return f"enrichment.generator (--generator) is {settings.generator}"
    names = set(fallen)
    messages = Counter(failure.message for failure in enrichment.failures if failure.tool_id in names)
    if messages:
        return " ".join(messages.most_common(1)[0][0].split())[:_LONGEST_CAUSE].rstrip(".")
    if not settings.reaches_model:
        return NO_KEY_SET[0].upper() + NO_KEY_SET[1:]
    return "The ledger has no answer about them that passes the checks"
