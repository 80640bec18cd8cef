"""The report of a build on a terminal, and its plan: what changed in the catalog, what the model costs."""

import shlex
from collections import Counter

from pipeline.build.plan import Plan
from pipeline.build.report import BuildReport
from pipeline.enrichment import GenerationFailure
from pipeline.enrichment.generator import UNASKED
from pipeline.publish import use_command
from pipeline.sentences import counted
from pipeline.settings import DEFAULT_WORKSPACE
from quartermaster.output.evaluation import evaluation_line
from quartermaster.output.formatting import dollars, make_table, megabytes
from quartermaster.output.sources import show_coverage, show_missing, show_stale
from quartermaster.output.terminal import out, print_err

_MAX_EXAMPLES = 5
_CALIBRATIONS = {
    "phrases": "calibrated on this catalog's phrases",
    "judgements": "calibrated on this catalog's judged requests",
    "generic": "a generic guess, not calibrated for this catalog",
}


def show_report(report: BuildReport, *, reasons: bool = True) -> None:
    """Print the counts, then each kind of problem with a few examples, and what keeps the snapshot from serving.

    Without `reasons` what the build went without and what held it is left out: a log in JSON has it.
    """
    out.print(make_table(("", ""), report_rows(report)))
    show_missing(report.missing)
    _show_changes(report)
    _show_problems(report)
    show_coverage(report.coverage)
    _show_quarantined(report)
    if reasons:
        for reason in report.degraded:
            print_err(f"degraded: {reason}", "yellow")
        for reason in report.held:
            print_err(f"gate: {reason}", "bold red")
    if report.outcome == "held":
        _show_remedy(report)


def report_rows(report: BuildReport) -> list[tuple[str, str]]:
    """Return the figures of a build by name, as every summary for people has them."""
    stages = sorted(report.seconds.items(), key=lambda item: -item[1])[:3]
    slowest = ", ".join(f"{stage} {spent:.1f}" for stage, spent in stages)
    return [
        ("tools", f"{report.counts['tools']:,} of {report.counts['read']:,} records read"),
        ("changes", str(report.difference)),
        ("expansions", _expansions(report)),
        ("model", _model_usage(report)),
        ("encoder", report.snapshot_encoder.described if report.snapshot_encoder else "none"),
        *([("encoder before", report.encoder_before.described)] if report.encoder_before else []),
        ("texts embedded", f"{report.embedded:,}"),
        ("prerequisites", report.prerequisites.described(report.counts["tools"]) if report.prerequisites else "off"),
        *([("learned", _learned(report))] if report.tuning else []),
        *([("judged", evaluation_line(report.evaluation))] if report.evaluation else []),
        *([("disk", _disk(report))] if report.written_bytes else []),
        ("outcome", f"{report.outcome}, {sum(report.seconds.values()):.1f} s ({slowest})"),
    ]


def _show_changes(report: BuildReport) -> None:
    """Print the names of a few tools that were added, changed or removed since the snapshot that served before."""
    kinds = (("added", report.added), ("changed", report.changed), ("removed", report.removed_tools))
    for kind, tools in kinds:
        if tools and report.difference.snapshot:  # in the first build all tools are new
            more = f" and {len(tools) - _MAX_EXAMPLES:,} more: --json" if len(tools) > _MAX_EXAMPLES else ""
            style = "yellow" if kind == "removed" else ""
            print_err(f"{kind}: {', '.join(tools[:_MAX_EXAMPLES])}{more}", style)


def _show_problems(report: BuildReport) -> None:
    _list("records rejected", [f"{r.origin.file} {r.origin.pointer}: {r.reason}" for r in report.rejected])
    kinds = Counter(notice.kind for notice in report.notices)
    for kind, explanation in (
        ("merged", "exact duplicates, merged"),
        ("renamed", "ids that were taken already, so numbered"),
        ("thin", "tools without a description, found only by name and schema"),
        ("unread", "tools described in another language, found only by name and English phrases"),
        ("open", "records that were not read as they are written"),
    ):
        if kinds[kind]:
            _list(explanation, [f"{n.tool_id}: {n.message}" for n in report.notices if n.kind == kind])
    failed = [f for f in report.failures if not f.postponed]
    _list("tools without an answer of the model", [f"{f.tool_id}: {_what_failed(f)}" for f in failed])
    postponed = [f for f in report.failures if f.postponed]
    _list("tools left to a later build", [f"{f.tool_id}: {f.message}{_meanwhile(report, f)}" for f in postponed])
    earlier = [
        f"{tool_id}: {stale} (run {stale.run}, {stale.model})" for tool_id, stale in report.stale_expansions.items()
    ]
    _list("tools that keep an earlier expansion", earlier)
    foreign: dict[str, str] = {}
    for verdict in report.verdicts:
        if verdict.check == "foreign":
            foreign.setdefault(verdict.tool_id, f"{verdict.tool_id}: {verdict.text}")
    _list("records that asked for phrases of other tools", list(foreign.values()))
    dropped = Counter(verdict.check for verdict in report.verdicts if verdict.dropped)
    if dropped:
        checks = ", ".join(f"{check} {count:,}" for check, count in dropped.most_common())
        see = "see quartermaster inspect --table left_out"
        print_err(f"texts left out: {dropped.total():,}, by check: {checks}; {see}", "yellow")


def _what_failed(failure: GenerationFailure) -> str:
    # The message of a question that was not asked begins with that.
    return failure.message if failure.kind == UNASKED else f"{failure.kind}: {failure.message}"


def _meanwhile(report: BuildReport, failure: GenerationFailure) -> str:
    stale = report.stale_expansions.get(failure.tool_id)
    return f"; its expansion {stale} serves meanwhile" if stale else ""


def _show_quarantined(report: BuildReport) -> None:
    if not report.quarantined:
        return
    _list("single tools held back", [str(one) for one in report.quarantined])
    workspace = report.snapshot.parent.parent.parent
    place = "" if workspace == DEFAULT_WORKSPACE else f" --workspace {shlex.quote(str(workspace))}"
    command = f"quartermaster quarantine {shlex.quote(report.snapshot.parent.name)}{place}"
    print_err(f"To see what they would take, and to release them: {command}")


def _show_remedy(report: BuildReport) -> None:
    print_err(f"The snapshot is stored but does not serve. To serve it all the same: {use_command(report.snapshot)}")
    if report.evaluation and "serving" in report.evaluation:
        serving = report.snapshot.parent / report.evaluation["serving"]["snapshot"]
        print_err(
            "To see which requests got worse (--bench is the catalog's folder): quartermaster evaluate --bench … "
            f"--snapshot {shlex.quote(str(report.snapshot))} --against {shlex.quote(str(serving))}"
        )


def _disk(report: BuildReport) -> str:
    """Return what the snapshot takes, and what old ones gave back."""
    freed = f", {megabytes(report.freed_bytes)} freed" if report.freed_bytes > 0 else ""
    return f"{megabytes(report.written_bytes)} written{freed}"


def _expansions(report: BuildReport) -> str:
    parts = [f"{count:,} by {name}" for name, count in report.generators.items()]
    stale = f", {len(report.stale_expansions):,} of them stale" if report.stale_expansions else ""
    # A tool may have a first answer and a second beside its siblings: answers are more than tools.
    reused = f"; {counted(report.reused, 'answer')} known from the ledger" if report.reused else ""
    return f"{', '.join(parts) or 'none'}{stale}{reused}"


def _model_usage(report: BuildReport) -> str:
    calls = report.asked.get("openai", 0)
    if not calls:
        return "0 calls"
    usage = report.usage
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    spent = f"{calls:,} questions, {usage.prompt_tokens:,}{cached} + {usage.completion_tokens:,} tokens"
    lost = (
        f", and up to {dollars(usage.unconfirmed_usd)} for requests without an answer" if usage.unconfirmed_usd else ""
    )
    return f"{spent}, {dollars(usage.cost_usd)}{lost}{_estimated(report)}"


def _estimated(report: BuildReport) -> str:
    """Return what was estimated before the first question, with the questions that it was for."""
    estimate = report.estimate
    questions = estimate.questions + estimate.contrasted
    return f"; estimated before: {questions:,} questions, {dollars(estimate.cost_usd)}" if estimate.cost_usd else ""


def _learned(report: BuildReport) -> str:
    """Return what the build learned, or why it did not."""
    parts = []
    adapter = report.tuning.get("adapter", {})
    if adapter.get("skipped"):
        parts.append(f"no query adapter: {adapter['skipped']}")
    elif adapter:
        gain = f"{adapter['mrr_before']:.3f} to {adapter['mrr_after']:.3f}"
        parts.append(f"query adapter (MRR of held-out phrases {gain})")
    fitting = report.tuning.get("fitting", {})
    if fitting.get("calibrations"):
        source = fitting["calibrations"][0]["source"]
        parts.append(f"when no tool fits ({_CALIBRATIONS.get(source, _CALIBRATIONS['generic'])})")
    elif fitting:
        parts.append(f"when no tool fits: not calibrated, {fitting.get('skipped', 'everyday requests reach no list')}")
    intents, weights = report.tuning.get("intents", {}), report.tuning.get("weights", {})
    if intents:
        parts.append(f"past requests: {intents.get('skipped') or 'used as a signal'}")
    if weights:
        parts.append(
            f"weights: {'not changed: ' + weights['kept'] if weights.get('kept') else 'fitted to past requests'}"
        )
    return "; ".join(parts)


def _list(title: str, lines: list[str]) -> None:
    if not lines:
        return
    print_err(f"{title}: {len(lines):,}", "yellow")
    for line in lines[:_MAX_EXAMPLES]:
        # On one line each, so that a server's words are not taken for ours.
        print_err(f"  {' '.join(line.split())[:300]}")
    if len(lines) > _MAX_EXAMPLES:
        print_err(f"  and {len(lines) - _MAX_EXAMPLES:,} more: --json", "dim")


def show_plan(plan: Plan) -> None:
    """Print the tools that changed and the estimate of the questions to a model."""
    estimate = plan.estimate
    tools = f"{plan.new:,} new, {plan.changed:,} changed, {plan.unchanged:,} unchanged, {plan.removed:,} removed"
    rows = [("tools", tools), ("compared with", plan.serving or "nothing: no snapshot serves")]
    if plan.rejected:
        rows.append(("rejected", f"{plan.rejected:,} records"))
    rows.append(("answers known", f"{estimate.known:,}"))
    if estimate.questions and plan.max_cost_usd is not None and (estimate.cost_usd or 0) > plan.max_cost_usd:
        rows.append(("budget", f"{dollars(plan.max_cost_usd)}: later builds ask about the rest"))
    if estimate.awaited:
        rows.append(("in batches", f"{estimate.awaited:,} submitted before, not answered yet"))
    if estimate.questions:
        rows += _question_rows(plan)
    else:
        rows.append(("to ask", f"nothing{_not_read(plan)}"))
    out.print(make_table(("", ""), rows))
    if any(coverage.problems for coverage in plan.coverage):
        show_coverage(plan.coverage)
    show_stale(plan.stale)
    show_missing(plan.missing)


def _question_rows(plan: Plan) -> list[tuple[str, str]]:
    estimate = plan.estimate
    again = f", about {estimate.contrasted:,} of them a second time, with similar tools beside them"
    estimated = estimate.counted_by == "estimate"
    counted = "estimated: four characters a token" if estimated else f"counted as {estimate.counted_by}"
    return [
        ("to ask", f"{estimate.questions:,} tools{again if estimate.contrasted else ''}"),
        ("model", f"{plan.model}{' by the Batch API' if plan.mode == 'batch' else ''}"),
        ("tokens", f"{estimate.prompt_tokens:,} in, {estimate.completion_tokens:,} out ({counted})"),
        ("cost", dollars(estimate.cost_usd, "price unknown: set it in enrichment.prices") + _not_read(plan)),
        ("time", _duration(plan)),
    ]


def _not_read(plan: Plan) -> str:
    """Return what the estimate leaves out: what changed in sources that were not read."""
    sources, tools, cost = (plan.not_read[key] for key in ("sources", "tools", "cost_usd"))
    known = (counted(tools, "tool") if tools else "never read") + (f", {dollars(cost)} if all changed" if cost else "")
    return f" + what changed in {counted(sources, 'source')} not read ({known})" if sources else ""


def _duration(plan: Plan) -> str:
    if plan.mode == "batch":
        return "within a day of submitting it"
    seconds = plan.estimate.seconds
    if seconds is None:
        return "no limit configured: as fast as the server allows (enrichment.requests_per_minute)"
    return f"{seconds / 60:,.1f} minutes at the configured limits" if seconds >= 90 else f"{seconds:.0f} s"
