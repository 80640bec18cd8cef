"""Figures of several routers on the same judged requests, and their table."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from router.evaluation import METRICS, Judgement, differences, intervals, scores
from router.evaluation.metrics import by_key, means
from router.evaluation.resampling import holm

SHOWN = ("hit@1", "full@10", "ndcg@10")


def compared_rows(
    judgements: Sequence[Judgement], rankings: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, dict[str, Any]]:
    """Return by router the metrics and their intervals, and the difference of the first router from each other one.

    The first router has no difference. p is corrected for the number of the others.
    """
    tables = {name: scores(zip(ranked, judgements, strict=True)) for name, ranked in rankings.items()}
    first = next(iter(tables))
    rows: dict[str, dict[str, Any]] = {
        name: {"metrics": means(table), "intervals": by_key(intervals(table))} for name, table in tables.items()
    }
    gains = {name: by_key(differences(tables[first], table)) for name, table in tables.items() if name != first}
    for metric in METRICS:
        of_metric = {name: gain[metric.key] for name, gain in gains.items() if gain[metric.key]}
        for (name, gain), p in zip(of_metric.items(), holm([gain.p for gain in of_metric.values()]), strict=True):
            rows[name].setdefault("difference", {})[metric.key] = {**gain.to_json(), "p": p}
    return rows


def rounded(value: Any) -> Any:
    """Return JSON with its floats rounded to six decimals."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def table(found: Mapping[str, Any], text: str) -> Table:
    """Return a table of a set's figures by one text: bold differences have p < .05."""
    title = f"{found['set']}, {found['tools']} tools, {found['requests']} requests, {text}"
    shown = Table(title=title, box=None, title_justify="left")
    shown.add_column("router")
    for metric in SHOWN:
        for heading in (metric, "95 %", "ours −"):
            shown.add_column(heading, justify="right")
    for name, row in found[text].items():
        cells = []
        for metric in SHOWN:
            low, high = row["intervals"][metric]
            cells += [f"{row['metrics'][metric]:.3f}", f"{low:.3f}–{high:.3f}", _points(row, metric)]
        shown.add_row(name, *cells)
    return shown


def _points(row: Mapping[str, Any], metric: str) -> str:
    if not (gain := row.get("difference", {}).get(metric)):
        return ""
    points = f"{100 * gain['difference']:+.1f}"
    return f"[bold]{points}[/]" if gain["p"] < 0.05 else points
