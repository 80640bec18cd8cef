"""What a build prints when it is done."""

import shlex
from collections import Counter
from collections.abc import Sequence

from flows.output.coverage import show_coverage
from flows.output.evaluation import judged
from flows.output.money import dollars
from flows.output.screen import err, out, plain, rows_table
from pipeline.build.plan import Plan
from pipeline.build.report import BuildReport
from pipeline.enrichment.estimate import Estimate
from pipeline.publish.missing_tools import MissingTools
from pipeline.sources import Gap
from pipeline.sources.gaps import empties

_SHOWN = 5
_SOURCES = {
    "phrases": "calibrated on this catalog's phrases",
    "judgements": "calibrated on this catalog's judged requests",
    "generic": "a generic guess, not calibrated for this catalog",
}


def show_report(report: BuildReport) -> None:
    """The counts, then what an operator must know, a few examples of each."""
    seconds = sum(report.seconds.values())
    rows = [
        ("tools", f"{report.counts['tools']:,} of {report.counts['read']:,} records read"),
        ("changes", str(report.difference)),
        ("expansions", _generators(report)),
        ("model", _usage(report)),
        ("encoder", report.encoder or "none"),
        ("texts embedded", f"{report.embedded:,}"),
        *([("learned", _learned(report))] if report.tuning else []),
        *([("judged", judged(report.evaluation))] if report.evaluation else []),
        ("outcome", f"{report.outcome}, {seconds:.1f} s ({_slowest(report)})"),
    ]
    out.print(rows_table(("", ""), rows))
    _missing(report.missing)
    _list("records rejected", [f"{r.origin.file} {r.origin.pointer}: {r.reason}" for r in report.rejected])
    kinds = Counter(notice.kind for notice in report.notices)
    for kind, explanation in (
        ("merged", "exact duplicates, merged"),
        ("renamed", "ids that were taken already, so numbered"),
        ("thin", "tools without a description, found by name and schema alone"),
        ("open", "references to other documents, not followed"),
    ):
        if kinds[kind]:
            _list(explanation, [f"{n.tool_id}: {n.message}" for n in report.notices if n.kind == kind])
    failed = [f for f in report.failures if not f.postponed]
    _list("tools without an answer of the model", [f"{f.tool_id}: {f.kind}: {f.message}" for f in failed])
    postponed = [f for f in report.failures if f.postponed]
    _list("tools left to a later build", [f"{f.tool_id}: {f.message}" for f in postponed])
    dropped = Counter(verdict.check for verdict in report.verdicts if verdict.dropped)
    if dropped:
        checks = ", ".join(f"{check} {count:,}" for check, count in dropped.most_common())
        err.print(
            f"texts left out: {dropped.total():,}, by check: {checks}; see quartermaster inspect --table verdicts",
            style="yellow",
            soft_wrap=True,
        )
    show_coverage(report.coverage)
    for reason in report.held:
        err.print(plain(f"gate: {reason}", "bold red"), soft_wrap=True)
    if report.outcome == "held":
        err.print(
            "The snapshot was written but does not serve. To serve it all the same: "
            f"quartermaster snapshots {report.snapshot.parent.name} --use {report.snapshot.name}",
            soft_wrap=True,
            markup=False,
        )
        if report.evaluation and "serving" in report.evaluation:
            serving = report.snapshot.parent / report.evaluation["serving"]["snapshot"]
            err.print(
                "To see which requests got worse (--bench is the catalog's folder): quartermaster evaluate --bench … "
                f"--snapshot {shlex.quote(str(report.snapshot))} --against {shlex.quote(str(serving))}",
                soft_wrap=True,
                markup=False,
            )


def show_plan(plan: Plan) -> None:
    """What a build would find in the catalog, and what the model's part would take."""
    expected = plan.estimate
    tools = f"{plan.new:,} new, {plan.changed:,} changed, {plan.unchanged:,} unchanged, {plan.removed:,} removed"
    rows = [("tools", tools), ("compared with", plan.serving or "nothing: no snapshot serves")]
    if plan.rejected:
        rows.append(("rejected", f"{plan.rejected:,} records"))
    rows.append(("answers known", f"{expected.known:,}"))
    if expected.questions and plan.max_cost_usd is not None and (expected.cost_usd or 0) > plan.max_cost_usd:
        rows.append(("budget", f"{dollars(plan.max_cost_usd)}: later builds ask about the rest"))
    if expected.awaited:
        rows.append(("in batches", f"{expected.awaited:,} submitted before, not answered yet"))
    if expected.questions:
        again = (
            f", about {expected.contrasted:,} of them a second time, with similar tools beside them"
            if expected.contrasted
            else ""
        )
        rows += [
            ("to ask", f"{expected.questions:,} tools{again}"),
            ("model", f"{plan.model}{' by the Batch API' if plan.mode == 'batch' else ''}"),
            ("tokens", f"{expected.prompt_tokens:,} in, {expected.completion_tokens:,} out ({_counted(expected)})"),
            ("cost", dollars(expected.cost_usd, "price unknown: set it in enrichment.prices")),
            ("time", _time(plan)),
        ]
    else:
        rows.append(("to ask", "nothing"))
    out.print(rows_table(("", ""), rows))
    if any(one.problems for one in plan.coverage):
        show_coverage(plan.coverage)
    _missing(plan.missing)


def show_left_out(names: Sequence[str]) -> None:
    """Print what of a folder is not read; nothing where all of it is."""
    if names:
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        shown = ", ".join(names[:_SHOWN])
        err.print(plain(f"not read: {shown}{more}; a catalog.toml can name them", "yellow"), soft_wrap=True)


def _missing(missing: MissingTools) -> None:
    """Print every source that was skipped, with the serving tools that it takes along, and a few that are empty."""
    for gap in missing.skipped:
        err.print(plain(f"skipped: {' '.join(gap.reason.split())[:600]}{_gone(gap)}", "yellow"), soft_wrap=True)
    if told := empties(missing.gaps, missing.sources):
        err.print(plain(told, "yellow"), soft_wrap=True)
    for gap in missing.empty:
        if gap.serving:
            err.print(plain(f"empty: {gap.source}{_gone(gap)}", "yellow"), soft_wrap=True)


def _gone(gap: Gap) -> str:
    if not gap.serving:
        return ""
    return f" ({gap.serving:,} {'tool' if gap.serving == 1 else 'tools'} of it serve until now, and are missing here)"


def _counted(expected: Estimate) -> str:
    return (
        "estimated: four characters a token"
        if expected.counted_by == "estimate"
        else f"counted as {expected.counted_by}"
    )


def _time(plan: Plan) -> str:
    if plan.mode == "batch":
        return "within a day of submitting it"
    seconds = plan.estimate.seconds
    if seconds is None:
        return "no limit configured: as fast as the server allows (enrichment.requests_per_minute)"
    return f"{seconds / 60:,.1f} minutes at the configured limits" if seconds >= 90 else f"{seconds:.0f} s"


def _generators(report: BuildReport) -> str:
    parts = [f"{count:,} by {name}" for name, count in report.generators.items()]
    reused = f" ({report.reused:,} of them from the ledger)" if report.reused else ""
    return f"{', '.join(parts) or 'none'}{reused}"


def _usage(report: BuildReport) -> str:
    calls = report.asked.get("openai", 0)
    if not calls:
        return "0 calls"
    usage = report.usage
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    spent = f"{calls:,} questions, {usage.prompt_tokens:,}{cached} + {usage.completion_tokens:,} tokens"
    lost = (
        f", and up to {dollars(usage.unconfirmed_usd)} for requests without an answer" if usage.unconfirmed_usd else ""
    )
    return f"{spent}, {dollars(usage.cost_usd)}{lost}{_error(report)}"


def _error(report: BuildReport) -> str:
    """How far the estimate was off."""
    expected, actual = report.estimate.cost_usd, report.usage.cost_usd
    if not expected or not actual or not all(failure.asked for failure in report.failures):
        return ""  # of a build that asked less, or more, than was foreseen
    return f"; estimated {dollars(expected)} ({(expected - actual) / actual:+.0%})"


def _learned(report: BuildReport) -> str:
    """What tuning learned, or why it did not."""
    told = []
    adapter = report.tuning.get("adapter", {})
    if adapter.get("skipped"):
        told.append(f"no query adapter: {adapter['skipped']}")
    elif adapter:
        gain = f"{adapter['mrr_before']:.3f} to {adapter['mrr_after']:.3f}"
        told.append(f"query adapter (MRR of held-out phrases {gain})")
    fitting = report.tuning.get("fitting", {})
    if fitting.get("calibrations"):
        source = fitting["calibrations"][0]["source"]
        told.append(f"when no tool fits ({_SOURCES.get(source, _SOURCES['generic'])})")
    elif fitting:
        told.append(f"when no tool fits: not calibrated, {fitting.get('skipped', 'everyday requests reach no list')}")
    intents, weights = report.tuning.get("intents", {}), report.tuning.get("weights", {})
    if intents:
        told.append(f"past requests: {intents.get('skipped') or 'used as a signal'}")
    if weights:
        told.append(
            f"weights: {'not changed: ' + weights['kept'] if weights.get('kept') else 'fitted to past requests'}"
        )
    return "; ".join(told)


def _slowest(report: BuildReport) -> str:
    stages = sorted(report.seconds.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{stage} {spent:.1f}" for stage, spent in stages)


def _list(title: str, lines: list[str]) -> None:
    if not lines:
        return
    err.print(f"{title}: {len(lines):,}", style="yellow", soft_wrap=True)
    for line in lines[:_SHOWN]:
        # On one line each: a server's words must not look like ours.
        err.print(plain(f"  {' '.join(line.split())[:300]}"), soft_wrap=True)
    if len(lines) > _SHOWN:
        err.print(f"  and {len(lines) - _SHOWN:,} more: --json", style="dim")
