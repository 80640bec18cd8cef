"""Recipes side by side on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from quartermaster.evaluation import METRICS
from quartermaster.output.formatting import metric_text
from quartermaster.output.terminal import out, plain_text, tell

_SIGNIFICANT = 0.05


def show_comparison(result: Mapping[str, Any]) -> None:
    """Print a table for each bench, then the means if there are several."""
    for bench in result["benches"]:
        rows = bench["rows"]
        title = f"{bench['bench']}: {rows[0]['tools']:,} tools, {bench['queries']:,} requests"
        snapshots = list(dict.fromkeys(row["snapshot"] for row in rows))
        out.print(plain_text(f"{title}, snapshot {snapshots[0]}" if len(snapshots) == 1 else title, "italic"))
        out.print(comparison_table(rows))
        out.print()
    if result["mean"]:
        out.print(plain_text(f"mean of {len(result['benches'])} benches", "italic"))
        out.print(comparison_table(result["mean"]))
        out.print()
    first = result["benches"][0]["rows"][0]["recipe"]
    legend = f"▲ better, ▼ worse than {first} by more than chance: p < .05, paired randomisation test, Holm"
    tell(legend, "dim")


def comparison_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row for each recipe: the best of each column in bold, significant differences from the first marked."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    snapshots = list(dict.fromkeys(row["snapshot"] for row in rows if "snapshot" in row))
    table.add_column("recipe", style="cyan", overflow="fold")
    if len(snapshots) > 1:
        table.add_column("snapshot", overflow="fold")
    for metric in METRICS:
        name, separator, k = metric.header.partition("@")
        table.add_column(f"{name}\n{separator}{k}", justify="right", no_wrap=True)
    timed = all("latency_ms" in row for row in rows)
    if timed:
        table.add_column("p50\nms", justify="right", no_wrap=True)
    keys = [metric.key for metric in METRICS]
    best = {m: max((v for row in rows if (v := row["metrics"][m]) is not None), default=None) for m in keys}
    for row in rows:
        cells = [metric_text(row["metrics"][m], best[m]) + _significance(row, m) for m in keys]
        where = [plain_text(row["snapshot"])] if len(snapshots) > 1 else []
        table.add_row(
            plain_text(row["recipe"]), *where, *cells, *([f"{row['latency_ms']['p50']:.1f}"] if timed else [])
        )
    return table


def _significance(row: Mapping[str, Any], metric: str) -> str:
    change = (row.get("difference") or {}).get(metric)
    if change is None or change["p"] >= _SIGNIFICANT:
        return " "
    return "[green]▲[/]" if change["difference"] > 0 else "[red]▼[/]"
