"""What a flow leaves for people to read in Prefect: artifacts, each under one key a catalog, which makes a history.

Text of catalogs stands in tables only, where it is data; in Markdown it would be markup.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from flows.output.coverage import COLUMNS, cells
from flows.output.evaluation import judged, number, span
from flows.output.money import dollars
from pipeline.build.report import BuildReport
from pipeline.sources.coverage import by_source
from router.evaluation import METRICS

_SHOWN = 100
_NONE = "–"


def slug(name: str) -> str:
    """A catalog's name as part of an artifact's key: lower case, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "catalog"


def show_build(catalog: str, report: BuildReport) -> None:
    """Show the build in figures, what was read of each source, the sources that gave no tool, what was rejected, what
    the model failed on, and where the snapshot is."""
    key = slug(catalog)
    create_markdown_artifact(_summary(report), key=f"build-{key}", description=f"Build: {report.outcome}")
    create_link_artifact(
        report.snapshot.resolve().as_uri(),
        link_text=report.snapshot.name,
        key=f"snapshot-{key}",
        description=f"The snapshot ({report.outcome})",
    )
    _show_coverage(key, report)
    rejected = [{"file": r.origin.file, "place": r.origin.pointer, "reason": r.reason} for r in report.rejected]
    failed = [{"tool": f.tool_id, "kind": f.kind, "message": f.message} for f in report.failures if not f.postponed]
    skipped, empty = ([gap.to_json() for gap in gaps] for gaps in (report.missing.skipped, report.missing.empty))
    for name, rows in (("skipped", skipped), ("empty", empty), ("rejected", rejected), ("failed", failed)):
        if rows:
            shown = f"{len(rows):,} {name}" + (f", the first {_SHOWN}" if len(rows) > _SHOWN else "")
            create_table_artifact(rows[:_SHOWN], key=f"{name}-{key}", description=shown)


def _show_coverage(key: str, report: BuildReport) -> None:
    """A row a source, those with problems first, and what the problems are."""
    rows = [
        {**dict(zip(COLUMNS, (source, *cells(one)), strict=True)), "problems": " · ".join(one.problems)}
        for source, one in sorted(by_source(report.coverage).items(), key=lambda item: not item[1].problems)
    ]
    wrong = sum(bool(one.problems) for one in report.coverage)
    shown = f"{len(rows):,} sources, {wrong:,} of them not read in full" + (
        f"; the first {_SHOWN}" if len(rows) > _SHOWN else ""
    )
    create_table_artifact(rows[:_SHOWN], key=f"coverage-{key}", description=shown)


def show_evaluation(catalog: str, result: Mapping[str, Any]) -> None:
    """Each signal alone and fused, with the fused list's 95 % intervals; then the fused list by kind of request."""
    intervals = result["intervals"]["fused"]
    table = [{"signal": signal, **_cells(values)} for signal, values in result["signals"].items()]
    table.append({"signal": "fused, 95 %", **{m.header: span(intervals[m.key]) for m in METRICS}})
    sorts = [("", result["slices"]), *((f"{sort}: ", of_sort) for sort, of_sort in result["by"].items())]
    table += [
        {"signal": f"fused, {sort}{name} ({values['queries']})", **cells}
        for sort, of_sort in sorts
        for name, values in of_sort.items()
        if set((cells := _cells(values)).values()) != {_NONE}  # requests that no tool answers have no metric
    ]
    said = f"{result['queries']} requests, recipe {result['recipe']}, snapshot {result['snapshot']}"
    if no_tool := result["no_tool"]:
        said += f"; no tool fits: AUC {number(no_tool['auc'])}"
    create_table_artifact(table, key=f"evaluation-{slug(catalog)}", description=said)


def _cells(values: Mapping[str, float | None]) -> dict[str, str]:
    return {m.header: _NONE if (value := values[m.key]) is None else f"{value:.3f}" for m in METRICS}


def _sources(report: BuildReport) -> str:
    missing = report.missing
    counted = [(len(missing.skipped), "skipped"), (len(missing.empty), "empty")]
    return ", ".join([f"{missing.sources:,}", *(f"{count:,} {what}" for count, what in counted if count)])


def _summary(report: BuildReport) -> str:
    usage = report.usage
    cost, expected = (dollars(cost) for cost in (usage.cost_usd, report.estimate.cost_usd))
    dropped = Counter(verdict.check for verdict in report.verdicts if verdict.dropped)
    asked = ", ".join(f"{count:,} by {name}" for name, count in report.asked.items()) or "none"
    written = ", ".join(f"{count:,} by {name}" for name, count in report.generators.items()) or "none"
    rows = [
        ("outcome", f"**{report.outcome}**"),
        ("sources", _sources(report)),
        ("records read", f"{report.counts['read']:,}"),
        ("rejected", f"{report.counts['rejected']:,}"),
        ("tools", f"{report.counts['tools']:,}"),
        ("changes", str(report.difference)),
        ("merged, renamed, thin", ", ".join(f"{report.counts[kind]:,}" for kind in ("merged", "renamed", "thin"))),
        ("expansions", written),
        ("questions asked", asked),
        ("reused from the ledger", f"{report.reused:,}"),
        ("failed", f"{sum(not failure.postponed for failure in report.failures):,}"),
        ("left to a later build", f"{sum(failure.postponed for failure in report.failures):,}"),
        ("tokens in, out", f"{usage.prompt_tokens:,}, {usage.completion_tokens:,}"),
        ("cost, estimate", f"{cost}, {expected}"),
        ("texts left out", ", ".join(f"{check} {count:,}" for check, count in dropped.most_common()) or "none"),
        ("texts embedded", f"{report.embedded:,}"),
        *([("judged", judged(report.evaluation))] if report.evaluation else []),
        ("seconds", ", ".join(f"{stage} {spent:.1f}" for stage, spent in report.seconds.items())),
        ("snapshot", f"`{report.snapshot}`"),
    ]
    # In code, where Markdown has no meaning: a reason names tools.
    held = [f"\nHeld back: `{reason.replace('`', '')}`" for reason in report.held]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows), *held])
