"""An evaluation on a screen of 80 columns: signals, kinds of requests, what changed, what went wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from flows.output.screen import err, head, out, plain
from router import Signal
from router.evaluation import HEADLINE_METRICS, METRICS, NDCG, K

_NAMED = 3  # tools that a warning names


def show_evaluation(result: Mapping[str, Any], worst: int = 0) -> None:
    """Each signal alone and fused, then what was asked for beside it."""
    title = f"{result['bench']}: {result['tools']:,} tools, {result['queries']:,} requests, recipe {result['recipe']}"
    out.print(plain(title, "italic"))
    out.print(signals_table(result))
    if result["slices"] or result["by"]:
        out.print()
        out.print(slices_table(result))
    if no_tool := result["no_tool"]:
        low, high = no_tool["auc_interval"]
        out.print()
        out.print(
            f"requests that no tool answers: AUC {number(no_tool['auc'])} ({number(low)}–{number(high)}); "
            f"{no_tool['refused_at_95']:.0%} are refused where 95 % of the others are kept;\n"
            f"at the router's own threshold {no_tool['refused']:.0%} are refused, "
            f"and {no_tool['refused_wrongly']:.0%} of the others wrongly"
        )
    if result.get("ablation"):
        head("The fused list without a signal")
        out.print(ablation_table(result["ablation"]))
    if result.get("against"):
        other = result["against"]
        head(f"Against {other['snapshot']}, recipe {other['recipe']}")
        out.print(difference_table(result, other))
    if worst:
        show_worst(result["worst"][:worst])
    _show_notes(result)


def signals_table(result: Mapping[str, Any]) -> Table:
    """Each signal alone and fused, by metric, the best signal alone in bold; the fused list's intervals below it."""
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
        table.add_row(signal, *(figure(values[m], best[m]) for m in keys))
    table.add_row(Text("95 %", "dim"), *(Text(span(result["intervals"]["fused"][m]), "dim") for m in keys))
    return table


def slices_table(result: Mapping[str, Any]) -> Table:
    """The fused list by kind of request, with the count and the intervals: few requests say little."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("fused, by kind", style="cyan", overflow="fold")
    table.add_column("requests", justify="right")
    for metric in HEADLINE_METRICS:
        table.add_column(metric.header, justify="right")
        table.add_column("95 %", style="dim", no_wrap=True)
    sorts = {"slice": result["slices"], **result["by"]}
    refused = any(values["refused"] is not None for of_sort in sorts.values() for values in of_sort.values())
    if refused:
        table.add_column("refused", justify="right")
    for sort, of_sort in sorts.items():
        for name, values in of_sort.items():
            measured = [(figure(values[m.key]), span(values["intervals"][m.key])) for m in HEADLINE_METRICS]
            share = ["–" if values["refused"] is None else f"{values['refused']:.0%}"] if refused else []
            if refused or values[NDCG(K).key] is not None:
                cells = [cell for pair in measured for cell in pair]
                label = name if sort == "slice" else f"{sort}: {name}"
                table.add_row(plain(label), f"{values['queries']:,}", *cells, *share)
        table.add_section()
    return table


def ablation_table(ablation: Mapping[str, Any]) -> Table:
    """What the fused list loses without each signal."""
    table = _differences("without", "difference")
    for signal, without in ablation.items():
        for metric in HEADLINE_METRICS:
            change = without["difference"][metric.key]
            if change is not None:
                table.add_row(signal, metric.header, figure(without["metrics"][metric.key]), *_change(change))
        table.add_section()
    return table


def difference_table(result: Mapping[str, Any], other: Mapping[str, Any]) -> Table:
    """A measurement beside another one, metric by metric."""
    table = _differences("metric", "difference", first="this", second="that")
    for metric in METRICS:
        change = other["difference"][metric.key]
        if change is not None:
            values = (result["signals"]["fused"][metric.key], other["metrics"][metric.key])
            table.add_row(metric.header, *map(figure, values), *_change(change))
    return table


def show_worst(worst: Sequence[Mapping[str, Any]]) -> None:
    """The worst requests: what was required and why it is not there, what was returned instead."""
    head(f"The worst requests ({len(worst)})")
    for row in worst:
        out.print()
        figures = f"{row['id']}  " + ", ".join(f"{m.key} {number(row[m.key])}" for m in reversed(HEADLINE_METRICS))
        out.print(plain(_one_line(row["request"])) + plain(f"\n  {figures}", "dim"), soft_wrap=True)
        for tool in row["required"]:
            place = f"{tool['rank']:>4,}" if tool["rank"] else "   –"
            out.print(plain(f"  {place} ") + plain(tool["tool_id"], "cyan") + plain(f"  {tool['why']}"), soft_wrap=True)
        if row["required_left_out"]:
            out.print(f"       and {row['required_left_out']} more", style="dim")
        returned = ", ".join(tool["tool_id"] for tool in row["returned"]) or "nothing"
        out.print(plain(f"  returned first: {returned}", "dim"), soft_wrap=True)


def judged(evaluation: Mapping[str, Any]) -> str:
    """A manifest's evaluation in a line: this snapshot's figures, and those of the one that served before."""

    def both(metrics: Mapping[str, float | None]) -> str:
        return ", ".join(f"{m.key} {number(metrics[m.key])}" for m in HEADLINE_METRICS)

    before = f"; before: {both(evaluation['serving']['metrics'])}" if "serving" in evaluation else ""
    return f"{evaluation['requests']:,} requests: {both(evaluation['metrics'])}{before}"


def number(value: float | None) -> str:
    """A share or a difference in three places without the zero before the point: .682, -.012, 1.00."""
    if value is None:
        return "–"
    text = f"{value:.3f}".replace("-0.000", "0.000")
    return text[:-1] if abs(value) >= 0.9995 else text.replace("0.", ".", 1)


def span(interval: Sequence[float] | None) -> str:
    """An interval: .884–.946; of a difference, which has a sign, in words."""
    if interval is None:
        return "–"
    low, high = map(number, interval)
    return f"{low} to {high}" if interval[0] < 0 else f"{low}–{high}"


def figure(value: float | None, best: float | None = None) -> str:
    """A metric, in bold where it is the best."""
    if value is None:
        return "[dim]–[/]"
    return f"[bold]{value:.3f}[/]" if value == best else f"{value:.3f}"


def _differences(of: str, difference: str, first: str = "metric", second: str = "value") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(of, style="cyan")
    for name in (first, second, difference):
        table.add_column(name, justify="right")
    table.add_column("95 %", style="dim", no_wrap=True)
    table.add_column("p", justify="right")
    table.add_column("better, worse", justify="right")
    return table


def _change(change: Mapping[str, Any]) -> list[str]:
    p = "<.001" if change["p"] < 0.001 else number(change["p"])
    gained = f"{change['better']:,}, {change['worse']:,}"
    return [f"{change['difference']:+.3f}", span(change["interval"]), p, gained]


def _show_notes(result: Mapping[str, Any]) -> None:
    lost = result["misses"]
    missed = lost["fusion"] + lost["retrieval"] + lost["absent"]
    latency = result["latency_ms"]
    out.print()
    out.print(
        f"{missed:,} of {lost['steps']:,} steps missed: {lost['retrieval']:,} not in the first ten of any list, "
        f"{lost['fusion']:,} lost in fusion",
        style="dim",
    )
    out.print(f"route: p50 {latency['p50']} ms, p95 {latency['p95']} ms", style="dim")
    if unknown := result["unknown"]:
        named = ", ".join(unknown[:_NAMED]) + (", …" if len(unknown) > _NAMED else "")
        err.print(
            plain(f"{len(unknown):,} tools that the judgements name are not in the snapshot: {named}", "yellow"),
            soft_wrap=True,
        )


def _one_line(text: str, most: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"
