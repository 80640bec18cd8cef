"""The quality gate: limits on what a build skipped, rejected or failed on. A held snapshot is written and kept."""

import shlex
from pathlib import Path

from pipeline.enrichment import Enrichment
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.publish.missing_tools import MissingTools
from pipeline.records import Catalog
from pipeline.settings import PublishSettings

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
