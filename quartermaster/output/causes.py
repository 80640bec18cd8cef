"""Missed steps by cause on a terminal of 80 columns: counts, costs, ways out, examples."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from quartermaster.evaluation import HEADLINE_METRICS, NDCG, Cause, K
from quartermaster.output.formatting import decimal, shorten
from quartermaster.output.terminal import out, plain_text, print_heading, tell

_MAX_REQUEST = 300  # characters


def show_causes(causes: Mapping[str, Any]) -> None:
    """Print the missed steps of an evaluation by cause, then each cause with its way out and examples."""
    print_heading(f"Missed steps by cause ({causes['missed']:,} of {causes['steps']:,} steps)")
    if causes["missed"]:
        out.print(causes_table(causes))
    _show_rest(causes)
    for cause in Cause:
        if causes["by_cause"][cause]["steps"]:
            _show_cause(cause, causes["by_cause"][cause])


def causes_table(causes: Mapping[str, Any]) -> Table:
    """Return a row for each cause that occurs: steps, share, what it costs, and the lists that came nearest."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("cause", style="cyan", no_wrap=True)
    for name in ("steps", "share", *(f"-{metric.key}" for metric in HEADLINE_METRICS)):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("nearest list", overflow="fold")
    for cause in Cause:
        row = causes["by_cause"][cause]
        if row["steps"]:
            lost = (decimal(row["lost"][metric.key]) for metric in HEADLINE_METRICS)
            table.add_row(cause.label, f"{row['steps']:,}", f"{row['share']:.0%}", *lost, _nearest(row["nearest"]))
    return table


def cause_changes_table(changes: Mapping[str, Mapping[str, int]]) -> Table:
    """Return the steps that two measurements miss by cause, and how many the first mends and breaks."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("missed steps", style="cyan", no_wrap=True)
    for name in ("this", "that", "mended", "broken"):
        table.add_column(name, justify="right")
    for cause in Cause:
        if any(changes[cause].values()):
            table.add_row(cause.label, *(f"{count:,}" for count in changes[cause].values()))
    return table


def causes_line(causes: Mapping[str, Any]) -> str:
    """Return the counts of all causes that occur as one line, the most frequent first; empty without missed steps."""
    counts = {cause: causes["by_cause"][cause]["steps"] for cause in Cause}
    ordered = sorted((cause for cause in Cause if counts[cause]), key=lambda cause: -counts[cause])
    return ", ".join(f"{cause.label} {counts[cause]:,}" for cause in ordered)


def _nearest(nearest: Mapping[str, int]) -> str:
    ordered = sorted((name for name in nearest if nearest[name]), key=lambda name: -nearest[name])
    return ", ".join(f"{name} {nearest[name]:,}" for name in ordered)


def _show_rest(causes: Mapping[str, Any]) -> None:
    """Print what costs nDCG without a missed step, and the requests wrongly answered or refused."""
    order, abstention = causes["order"], causes["abstention"]
    if order["requests"]:
        cost = decimal(order["lost"][NDCG(K).key])
        out.print(f"right tools too low: {order['requests']:,} requests, -{NDCG(K).key} {cost}", style="dim")
    if abstention and abstention["unanswerable"]:
        answered, unanswerable = abstention["answered"], abstention["unanswerable"]
        out.print(
            f"abstention: {answered:,} of {unanswerable:,} requests that no tool answers are answered", style="dim"
        )


def _show_cause(cause: Cause, row: Mapping[str, Any]) -> None:
    out.print()
    out.print(plain_text(cause.label, "bold cyan") + plain_text(f": {row['meaning']}"), soft_wrap=True)
    tell(f"  {row['way_out']}")
    for example in row["examples"]:
        out.print(
            plain_text(f"  {example['id']}  ", "dim") + plain_text(shorten(example["request"], _MAX_REQUEST)),
            soft_wrap=True,
        )
        place = f"rank {example['rank']}" if example["rank"] else "not ranked"
        out.print(
            plain_text(f"    {', '.join(example['missed'])}", "cyan") + plain_text(f"  {place}: {example['evidence']}"),
            soft_wrap=True,
        )
        instead = ", ".join(example["instead"]) or "nothing wrong, only right tools"
        tell(f"    instead: {instead}", "dim")
