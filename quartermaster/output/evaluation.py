"""An evaluation on a terminal of 80 columns: signals, kinds of requests, comparisons, the worst requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from quartermaster.evaluation import HEADLINE_METRICS, METRICS, NDCG, K
from quartermaster.output.causes import causes_line, show_causes
from quartermaster.output.differences import ablation_table, show_against
from quartermaster.output.formatting import decimal, interval_text, metric_text, shorten
from quartermaster.output.terminal import out, plain_text, print_heading, say, tell
from router import Signal

_MAX_NAMED = 3  # tools that a warning names
_MAX_REQUEST = 300  # characters


def show_evaluation(result: Mapping[str, Any], worst: int = 0) -> None:
    """Print each signal alone and fused, then the parts that were requested. `worst` is how many requests to list."""
    title = f"{result['bench']}: {result['tools']:,} tools, {result['queries']:,} requests, recipe {result['recipe']}"
    out.print(plain_text(title, "italic"))
    out.print(signals_table(result))
    if result["slices"] or result["by"]:
        out.print()
        out.print(slices_table(result))
    if no_tool := result["no_tool"]:
        low, high = no_tool["auc_interval"]
        out.print()
        out.print(
            f"requests that no tool answers: AUC {decimal(no_tool['auc'])} ({decimal(low)}–{decimal(high)}); "
            f"{no_tool['refused_at_95']:.0%} are refused where 95 % of the others are kept;\n"
            f"at the router's own threshold {no_tool['refused']:.0%} are refused, "
            f"and {no_tool['refused_wrongly']:.0%} of the others wrongly"
        )
    if result.get("ablation"):
        print_heading("The fused list without a signal")
        out.print(ablation_table(result["ablation"]))
    if result.get("against"):
        other = result["against"]
        print_heading(f"Against {other['snapshot']}, recipe {other['recipe']}")
        show_against(result, other)
    if worst:
        show_causes(result["causes"])
        show_worst(result["worst"][:worst])
    _show_notes(result)


def signals_table(result: Mapping[str, Any]) -> Table:
    """Return each signal alone and fused by metric, the best single signal in bold, with the fused list's intervals."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("signal", style="cyan", no_wrap=True)
    for metric in METRICS:
        table.add_column(metric.header, justify="right", no_wrap=True)
    signals: Mapping[str, Mapping[str, float | None]] = result["signals"]
    alone = [values for signal, values in signals.items() if signal in tuple(Signal)]
    keys = [metric.key for metric in METRICS]
    best = {m: max((v for values in alone if (v := values[m]) is not None), default=None) for m in keys}
    for signal, values in signals.items():
        if signal not in tuple(Signal):
            table.add_section()
        table.add_row(signal, *(metric_text(values[key], best[key]) for key in keys))
    table.add_row(Text("95 %", "dim"), *(Text(interval_text(result["intervals"]["fused"][key]), "dim") for key in keys))
    return table


def slices_table(result: Mapping[str, Any]) -> Table:
    """Return the metrics of the fused list by kind of request, with counts and 95 % intervals."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("fused, by kind", style="cyan", overflow="fold")
    table.add_column("requests", justify="right")
    for metric in HEADLINE_METRICS:
        table.add_column(metric.header, justify="right")
        table.add_column("95 %", style="dim", no_wrap=True)
    groups = {"slice": result["slices"], **result["by"]}
    refused = any(values["refused"] is not None for slices in groups.values() for values in slices.values())
    if refused:
        table.add_column("refused", justify="right")
    for group, slices in groups.items():
        for name, values in slices.items():
            measured = [
                (metric_text(values[m.key]), interval_text(values["intervals"][m.key])) for m in HEADLINE_METRICS
            ]
            share = ["–" if values["refused"] is None else f"{values['refused']:.0%}"] if refused else []
            if refused or values[NDCG(K).key] is not None:
                cells = [cell for pair in measured for cell in pair]
                label = name if group == "slice" else f"{group}: {name}"
                table.add_row(plain_text(label), f"{values['queries']:,}", *cells, *share)
        table.add_section()
    return table


def show_worst(worst: Sequence[Mapping[str, Any]]) -> None:
    """Print the worst requests: the required tools, why they were missed, and the tools returned instead."""
    print_heading(f"The worst requests ({len(worst)})")
    for row in worst:
        out.print()
        figures = f"{row['id']}  " + ", ".join(f"{m.key} {decimal(row[m.key])}" for m in reversed(HEADLINE_METRICS))
        out.print(
            plain_text(shorten(row["request"], _MAX_REQUEST)) + plain_text(f"\n  {figures}", "dim"), soft_wrap=True
        )
        for tool in row["required"]:
            place = f"{tool['rank']:>4,}" if tool["rank"] else "   –"
            out.print(
                plain_text(f"  {place} ") + plain_text(tool["tool_id"], "cyan") + plain_text(f"  {tool['why']}"),
                soft_wrap=True,
            )
        if row["required_left_out"]:
            out.print(f"       and {row['required_left_out']} more", style="dim")
        returned = ", ".join(tool["tool_id"] for tool in row["returned"]) or "nothing"
        tell(f"  returned first: {returned}", "dim")


def evaluation_line(evaluation: Mapping[str, Any]) -> str:
    """Return a manifest's evaluation as a line: this snapshot's metrics, and those of the one that served before."""

    def both(metrics: Mapping[str, float | None]) -> str:
        return ", ".join(f"{m.key} {decimal(metrics[m.key])}" for m in HEADLINE_METRICS)

    before = f"; before: {both(evaluation['serving']['metrics'])}" if "serving" in evaluation else ""
    return f"{evaluation['requests']:,} requests: {both(evaluation['metrics'])}{before}"


def _show_notes(result: Mapping[str, Any]) -> None:
    misses = result["misses"]
    missed = misses["fusion"] + misses["retrieval"] + misses["absent"]
    latency = result["latency_ms"]
    out.print()
    out.print(
        f"{missed:,} of {misses['steps']:,} steps missed: {misses['retrieval']:,} not in the first ten of any list, "
        f"{misses['fusion']:,} lost in fusion",
        style="dim",
    )
    if by_cause := causes_line(result["causes"]):
        out.print(f"by cause: {by_cause}", style="dim")
    out.print(f"route: p50 {latency['p50']} ms, p95 {latency['p95']} ms", style="dim")
    if unknown := result["unknown"]:
        named = ", ".join(unknown[:_MAX_NAMED]) + (", …" if len(unknown) > _MAX_NAMED else "")
        say(f"{len(unknown):,} tools that the judgements name are not in the snapshot: {named}", "yellow")
