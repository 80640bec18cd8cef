"""The results of a flow as Prefect artifacts, each under one key for a catalog, which gives it a history.

Text of catalogs appears in tables only, as data; in Markdown it would be markup.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from pipeline.build.report import BuildReport
from pipeline.records import NOTICES
from pipeline.sources.coverage import by_source
from quartermaster.evaluation import METRICS
from quartermaster.output.build import report_rows
from quartermaster.output.formatting import MISSING, decimal, dollars, interval_text
from quartermaster.output.sources import COLUMNS, coverage_cells

_MAX_ROWS = 100


def slug(name: str) -> str:
    """Return a catalog's name as part of an artifact's key: lower case, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "catalog"


def show_build(catalog: str, report: BuildReport) -> None:
    """Create the artifacts of a build: its figures, the snapshot's address, the coverage of each source, and tables of
    changed tools, stale, skipped and empty sources, rejected records and failures of the model."""
    key, row = slug(catalog), report.to_json()
    create_markdown_artifact(_summary(report), key=f"build-{key}", description=f"Build: {report.outcome}")
    create_link_artifact(
        report.snapshot.resolve().as_uri(),
        link_text=report.snapshot.name,
        key=f"snapshot-{key}",
        description=f"The snapshot ({report.outcome})",
    )
    sources = sorted(by_source(report.coverage).items(), key=lambda item: not item[1].problems)
    with_problems = sum(bool(read.problems) for _, read in sources)
    rows = [
        {**dict(zip(COLUMNS, (source, *coverage_cells(read)), strict=True)), "problems": " · ".join(read.problems)}
        for source, read in sources
    ]
    _show_table(f"coverage-{key}", rows, f"{len(rows):,} sources, {with_problems:,} of them not read in full")
    kinds = (("removed", report.removed_tools), ("changed", report.changed), ("added", report.added))
    # In the first build all tools are new.
    changes = [{"tool": tool, "change": kind} for kind, ids in kinds for tool in ids if report.difference.snapshot]
    tables: dict[str, list[dict[str, Any]]] = {
        "changes": changes,
        "stale": row["stale_sources"],
        "skipped": row["skipped"],
        "empty": row["empty"],
        "rejected": [{"file": r["file"], "place": r["pointer"], "reason": r["reason"]} for r in row["rejected"]],
        "failed": [
            {"tool": f.tool_id, "kind": f.kind, "message": f.message} for f in report.failures if not f.postponed
        ],
    }
    for name, rows in tables.items():
        if rows:
            _show_table(f"{name}-{key}", rows, f"{len(rows):,} {name}")


def _show_table(key: str, rows: Sequence[Mapping[str, Any]], description: str) -> None:
    if len(rows) > _MAX_ROWS:
        description += f", the first {_MAX_ROWS}"
    create_table_artifact(list(map(dict, rows[:_MAX_ROWS])), key=key, description=description)


def show_evaluation(catalog: str, result: Mapping[str, Any]) -> None:
    """Create the table of an evaluation: each signal and fused, with intervals, then the kinds of requests."""
    intervals = result["intervals"]["fused"]
    table = [{"signal": signal, **_metric_cells(values)} for signal, values in result["signals"].items()]
    table.append(
        {"signal": "fused, 95 %", **{metric.header: interval_text(intervals[metric.key]) for metric in METRICS}}
    )
    groups = [("", result["slices"]), *((f"{group}: ", slices) for group, slices in result["by"].items())]
    table += [
        {"signal": f"fused, {group}{name} ({values['queries']})", **cells}
        for group, slices in groups
        for name, values in slices.items()
        if set((cells := _metric_cells(values)).values()) != {MISSING}  # requests that no tool answers have no metric
    ]
    description = f"{result['queries']} requests, recipe {result['recipe']}, snapshot {result['snapshot']}"
    if no_tool := result["no_tool"]:
        description += f"; no tool fits: AUC {decimal(no_tool['auc'])}"
    create_table_artifact(table, key=f"evaluation-{slug(catalog)}", description=description)


def _metric_cells(values: Mapping[str, float | None]) -> dict[str, str]:
    return {metric.header: MISSING if (value := values[metric.key]) is None else f"{value:.3f}" for metric in METRICS}


def _summary(report: BuildReport) -> str:
    missing, figures = report.missing, report.figures
    lacking = [(len(report.stale_sources), "stale"), (len(missing.skipped), "skipped"), (len(missing.empty), "empty")]
    rows = [
        ("state", f"**{report.outcome}**"),
        ("sources", ", ".join([f"{missing.sources:,}", *(f"{count:,} {what}" for count, what in lacking if count)])),
        ("rejected", f"{figures['rejected']:,}"),
        (", ".join(NOTICES), ", ".join(f"{figures[kind]:,}" for kind in NOTICES)),
        *report_rows(report),
        ("cost, estimate", ", ".join(dollars(cost) for cost in (report.usage.cost_usd, report.estimate.cost_usd))),
        ("failed", f"{figures['failures']:,}"),
        ("left to a later build", f"{figures['postponed']:,}"),
        ("texts left out", ", ".join(f"{check} {count:,}" for check, count in report.dropped.most_common()) or "none"),
        ("seconds", ", ".join(f"{stage} {spent:.1f}" for stage, spent in report.seconds.items())),
        ("snapshot", f"`{report.snapshot}`"),
    ]
    # As code, where Markdown is not interpreted: a reason names tools.
    reasons = [("Held back", reason) for reason in report.held] + [("Degraded", reason) for reason in report.degraded]
    lines = [f"\n{what}: `{reason.replace('`', '')}`" for what, reason in reasons]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows), *lines])
