"""Differences of measurements on a terminal: from another snapshot or encoder, and without a signal."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from quartermaster.evaluation import HEADLINE_METRICS, METRICS
from quartermaster.output.causes import cause_changes_table
from quartermaster.output.formatting import MISSING, decimal, interval_text, megabytes, metric_text
from quartermaster.output.terminal import out, plain_text


def encoder_rows(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what there is to tell of both encoders of an evaluation: a name, this one's value, that one's value."""
    here, there = (
        {"tools": f"{side['tools']:,}", **_facts(side["encoder"]), **(_costs(side["cost"]) if side.get("cost") else {})}
        for side in (result, result["against"])
    )
    return [(name, value, there[name]) for name, value in here.items()]


def encoders_table(result: Mapping[str, Any]) -> Table:
    """Return the rows as a table for a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", style="cyan")
    for name in ("this", "that"):
        table.add_column(name, overflow="fold")
    for row in encoder_rows(result):
        table.add_row(*map(plain_text, row))
    return table


def _facts(encoder: Mapping[str, Any] | None) -> dict[str, str]:
    if encoder is None:
        return {"encoder": "none", "revision": MISSING, "dimensions": MISSING, "precision of requests": MISSING}
    return {
        "encoder": encoder["model"],
        "revision": encoder["revision"],
        "dimensions": f"{encoder['dim']:,}",
        "precision of requests": encoder["precision"],
    }


def _costs(cost: Mapping[str, Any]) -> dict[str, str]:
    request, seconds = cost["request_ms"], cost["documents_s"]
    about = "about " if cost["documents_timed"] < cost["documents"] else ""
    return {
        "encoding a request, p50": MISSING if request is None else f"{request:.2f} ms",
        "embedding the documents": MISSING if seconds is None else f"{about}{seconds:,.1f} s",
        "size in the snapshot": megabytes(cost["bytes"]) if cost["bytes"] else MISSING,
    }


def show_against(result: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Print a measurement beside another one: encoders, metrics, refusals, kinds of requests, missed steps."""
    if result["encoder"] != other["encoder"]:
        out.print(encoders_table(result))
        out.print()
    out.print(difference_table(result, other))
    if no_tool := other["no_tool"]:
        change = no_tool["difference"]
        out.print(
            f"\nrequests that no tool answers: AUC {decimal(no_tool['first'])} against {decimal(no_tool['second'])}, "
            f"{change['difference']:+.3f} ({interval_text(change['interval'])}), p {_p(change['p'])}",
            soft_wrap=True,
        )
    if other["by"]:
        out.print()
        out.print(slice_differences_table(other["by"]))
        out.print("p is corrected for the number of slices (Holm)", style="dim")
    out.print()
    out.print(cause_changes_table(other["causes"]))


def ablation_table(ablation: Mapping[str, Any]) -> Table:
    """Return the change of the fused list without each signal."""
    table = _differences("without", "difference")
    for signal, without in ablation.items():
        for metric in HEADLINE_METRICS:
            change = without["difference"][metric.key]
            if change is not None:
                table.add_row(signal, metric.header, metric_text(without["metrics"][metric.key]), *_change(change))
        table.add_section()
    return table


def difference_table(result: Mapping[str, Any], other: Mapping[str, Any]) -> Table:
    """Return a measurement beside another one, metric by metric."""
    table = _differences("metric", "difference", first="this", second="that")
    for metric in METRICS:
        change = other["difference"][metric.key]
        if change is not None:
            values = (result["signals"]["fused"][metric.key], other["metrics"][metric.key])
            table.add_row(metric.header, *map(metric_text, values), *_change(change))
    return table


def slice_differences_table(by: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return what became of each kind of request: the differences in the headline metrics."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("by kind", style="cyan", overflow="fold")
    for name in ("requests", "metric", "difference"):
        table.add_column(name, justify="right")
    table.add_column("95 %", style="dim", no_wrap=True)
    table.add_column("p", justify="right")
    for sort, of_sort in by.items():
        for name, row in of_sort.items():
            cells: list[str | Text] = [
                plain_text(name if sort == "slice" else f"{sort}: {name}"),
                f"{row['queries']:,}",
            ]
            for metric in HEADLINE_METRICS:
                if change := row["difference"][metric.key]:
                    table.add_row(*cells, metric.header, *_change(change)[:3])
                    cells = ["", ""]
        table.add_section()
    return table


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
    counts = f"{change['better']:,}, {change['worse']:,}"
    return [f"{change['difference']:+.3f}", interval_text(change["interval"]), _p(change["p"]), counts]


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else decimal(value)
