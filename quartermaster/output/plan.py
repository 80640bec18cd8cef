"""The plan of a build on a terminal: what changed in the catalog, and what the model would cost."""

from pipeline.build.plan import Plan
from pipeline.enrichment.estimate import Estimate
from quartermaster.output.formatting import dollars
from quartermaster.output.sources import show_coverage, show_missing, show_stale
from quartermaster.output.terminal import out, rows_table


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
        rows.append(("to ask", "nothing"))
    out.print(rows_table(("", ""), rows))
    if any(coverage.problems for coverage in plan.coverage):
        show_coverage(plan.coverage)
    show_stale(plan.stale)
    show_missing(plan.missing)


def _question_rows(plan: Plan) -> list[tuple[str, str]]:
    estimate = plan.estimate
    again = (
        f", about {estimate.contrasted:,} of them a second time, with similar tools beside them"
        if estimate.contrasted
        else ""
    )
    return [
        ("to ask", f"{estimate.questions:,} tools{again}"),
        ("model", f"{plan.model}{' by the Batch API' if plan.mode == 'batch' else ''}"),
        ("tokens", f"{estimate.prompt_tokens:,} in, {estimate.completion_tokens:,} out ({_counted_by(estimate)})"),
        ("cost", dollars(estimate.cost_usd, "price unknown: set it in enrichment.prices")),
        ("time", _duration(plan)),
    ]


def _counted_by(estimate: Estimate) -> str:
    return (
        "estimated: four characters a token"
        if estimate.counted_by == "estimate"
        else f"counted as {estimate.counted_by}"
    )


def _duration(plan: Plan) -> str:
    if plan.mode == "batch":
        return "within a day of submitting it"
    seconds = plan.estimate.seconds
    if seconds is None:
        return "no limit configured: as fast as the server allows (enrichment.requests_per_minute)"
    return f"{seconds / 60:,.1f} minutes at the configured limits" if seconds >= 90 else f"{seconds:.0f} s"
