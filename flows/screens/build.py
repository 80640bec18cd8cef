"""What a build prints when it is done."""

from collections import Counter

from flows.screens.screen import err, out, plain, rows_table
from pipeline.report import BuildReport

_SHOWN = 5


def show_report(report: BuildReport) -> None:
    """The counts, then what an operator must know, a few examples of each."""
    seconds = sum(report.seconds.values())
    rows = [
        ("tools", f"{report.counts['tools']:,} of {report.counts['read']:,} records read"),
        ("expansions", _generators(report)),
        ("model", _usage(report)),
        ("encoder", report.encoder or "none"),
        ("texts embedded", f"{report.embedded:,}"),
        ("outcome", f"{report.outcome}, {seconds:.1f} s ({_slowest(report)})"),
    ]
    out.print(rows_table(("", ""), rows))
    _list("rejected", [f"{r.origin.file} {r.origin.pointer}: {r.reason}" for r in report.rejected])
    kinds = Counter(notice.kind for notice in report.notices)
    for kind, explanation in (
        ("merged", "exact duplicates, merged"),
        ("renamed", "ids that were taken, numbered"),
        ("thin", "tools without a description: name and schema are all they are found by"),
        ("open", "schemas that lie in other documents, left open"),
    ):
        if kinds[kind]:
            _list(explanation, [f"{n.tool_id}: {n.message}" for n in report.notices if n.kind == kind])
    _list("enrichment failed", [f"{f.tool_id}: {f.kind}: {f.message}" for f in report.failures])
    for reason in report.held:
        err.print(plain(f"gate: {reason}", "bold red"), soft_wrap=True)
    if report.outcome == "held":
        err.print(
            "The snapshot was written but does not serve. To serve it all the same: "
            f"quartermaster snapshots {report.snapshot.parent.name} --use {report.snapshot.name}",
            soft_wrap=True,
            markup=False,
        )


def _generators(report: BuildReport) -> str:
    parts = [f"{count:,} by {name}" for name, count in report.generators.items()]
    reused = f" ({report.reused:,} of them from the ledger)" if report.reused else ""
    return f"{', '.join(parts) or 'none'}{reused}"


def _usage(report: BuildReport) -> str:
    calls = report.asked.get("openai", 0)
    if not calls:
        return "0 calls"
    usage = report.usage
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{calls:,} calls, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens, {cost}"


def _slowest(report: BuildReport) -> str:
    stages = sorted(report.seconds.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{stage} {spent:.1f}" for stage, spent in stages)


def _list(title: str, lines: list[str]) -> None:
    if not lines:
        return
    err.print(f"{len(lines):,} {title}", style="yellow", soft_wrap=True)
    for line in lines[:_SHOWN]:
        err.print(plain(f"  {line[:300]}"), soft_wrap=True)
    if len(lines) > _SHOWN:
        err.print(f"  and {len(lines) - _SHOWN:,} more: they are in the ledger", style="dim")
