"""One measurement beside another: encoders, snapshots and recipes, a signal left out, an encoder before training."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table
from rich.text import Text

from quartermaster.evaluation import HEADLINE_METRICS, METRICS, NDCG, Cause, K
from quartermaster.evaluation.measurement import FUSED
from quartermaster.evaluation.metrics import Metric
from quartermaster.output.formatting import (
    MISSING,
    Row,
    decimal,
    facts_table,
    interval_column,
    interval_text,
    make_table,
    megabytes,
    metric_text,
    name_column,
    number_columns,
)
from quartermaster.output.terminal import out, plain_text

if TYPE_CHECKING:
    from quartermaster.training import TrainingReport

_SIGNIFICANT = 0.05
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Details:
    """What a page folds away under its first line, such as a request. A table is for the page only."""

    name: str
    text: str
    lines: Sequence[Text]
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an evaluation: tables, notes and details. `plot` names the plot that a page has above them."""

    title: str
    parts: Sequence[Table | str | Details]
    plot: str = ""


def best_values(
    rows: Iterable[Mapping[str, float | None]], metrics: Sequence[Metric] = METRICS
) -> dict[str, float | None]:
    """Return the highest value of each metric, None where no row has one."""
    rows = list(rows)
    return {m.key: max((v for row in rows if (v := row[m.key]) is not None), default=None) for m in metrics}


def kind_text(sort: str, kind: str) -> str:
    """Return the name of a kind of request: of the file's own slices without their sort."""
    return kind if sort == "slice" else f"{sort}: {kind}"


def ablation_table(ablation: Mapping[str, Result]) -> Table:
    """Return the change of the fused list without each signal."""
    rows: list[Row] = []
    for signal, without in ablation.items():
        for metric in HEADLINE_METRICS:
            if change := without["difference"][metric.key]:
                value = metric_text(without["metrics"][metric.key])
                rows.append((signal, metric.header, value, *_change(change)))
        rows.append(None)
    return _differences(("metric", "value"), rows, of="without")


def against_parts(result: Result, other: Result, page: bool) -> Iterator[Table | str | Details]:
    """Yield a measurement beside another one: encoders, metrics, refusals, kinds of requests, missed steps."""
    if result["encoder"] != other["encoder"]:
        there = _encoder(other)
        columns = (name_column(""), *(Column(side, overflow="fold") for side in ("this", "that")))
        yield make_table(columns, [(fact, value, there[fact]) for fact, value in _encoder(result).items()])
    rows = [
        (m.header, metric_text(result["signals"][FUSED][m.key]), metric_text(other["metrics"][m.key]), *_change(change))
        for m in METRICS
        if (change := other["difference"][m.key])
    ]
    yield _differences(("this", "that"), rows, of="metric")
    if no_tool := other["no_tool"]:
        difference, bounds, p, _ = _change(no_tool["difference"])
        areas = f"AUC {decimal(no_tool['first'])} against {decimal(no_tool['second'])}"
        yield f"requests that no tool answers: {areas}, {difference} ({bounds}), p {p}"
    if other["by"]:
        yield _kind_differences(other["by"])
        yield "p is corrected for the number of slices (Holm)"
    causes = other["causes"]
    changed = [(c.label, *(f"{count:,}" for count in causes[c].values())) for c in Cause if any(causes[c].values())]
    yield make_table((name_column("missed steps"), *number_columns("this", "that", "mended", "broken")), changed)
    if page:
        yield "mended: steps that only “that” misses, by its cause; broken: steps that only “this” misses, by its own"
        for moved in other["moved"]:
            lines = [
                plain_text(f"{side}: {', '.join(moved[key])}") for side, key in (("this", "first"), ("that", "second"))
            ]
            yield Details(f"{moved[NDCG(K).key]:+.3f}", moved["request"], lines)


def _encoder(side: Result) -> dict[str, str]:
    """Return what there is to say of an encoder, by name."""
    encoder, cost = side["encoder"], side.get("cost")
    facts = {
        "tools": f"{side['tools']:,}",
        "encoder": encoder["model"] if encoder else "none",
        "revision": encoder["revision"] if encoder else MISSING,
        "dimensions": f"{encoder['dim']:,}" if encoder else MISSING,
        "precision of requests": encoder["precision"] if encoder else MISSING,
    }
    if cost:
        request, seconds = cost["request_ms"], cost["documents_s"]
        about = "about " if cost["documents_timed"] < cost["documents"] else ""
        facts |= {
            "encoding a request, p50": MISSING if request is None else f"{request:.2f} ms",
            "embedding the documents": MISSING if seconds is None else f"{about}{seconds:,.1f} s",
            "size in the snapshot": megabytes(cost["bytes"]) if cost["bytes"] else MISSING,
        }
    return facts


def _kind_differences(by: Mapping[str, Result]) -> Table:
    """Return the change of each kind of request: the differences in the headline metrics."""
    rows: list[Row] = []
    for sort, of_sort in by.items():
        for kind, row in of_sort.items():
            first = (kind_text(sort, kind), f"{row['queries']:,}")
            for metric in HEADLINE_METRICS:
                if change := row["difference"][metric.key]:
                    rows.append((*first, metric.header, *_change(change)[:3]))
                    first = ("", "")
        rows.append(None)
    columns = (*number_columns("requests", "metric", "difference"), interval_column(), *number_columns("p"))
    return make_table((name_column("by kind"), *columns), rows)


def _differences(values: Iterable[str], rows: Iterable[Row], *, of: str) -> Table:
    """Return a table of changes, each with its 95 % interval, its p, and the requests that got better and worse."""
    columns = (*number_columns(*values, "difference"), interval_column(), *number_columns("p", "better, worse"))
    return make_table((name_column(of), *columns), rows)


def _change(change: Result) -> tuple[str, str, str, str]:
    counts = f"{change['better']:,}, {change['worse']:,}" if "better" in change else ""
    return f"{change['difference']:+.3f}", interval_text(change["interval"]), _p(change), counts


def _p(change: Result) -> str:
    return "<.001" if change["p"] < 0.001 else decimal(change["p"])


def show_comparison(result: Result) -> None:
    """Print recipes side by side: a table for each bench, then the means if there are several."""
    for bench in result["benches"]:
        rows = bench["rows"]
        title = f"{bench['bench']}: {rows[0]['tools']:,} tools, {bench['queries']:,} requests"
        snapshots = {row["snapshot"] for row in rows}
        out.print(plain_text(f"{title}, snapshot {rows[0]['snapshot']}" if len(snapshots) == 1 else title, "italic"))
        out.print(_recipes_table(rows))
        out.print()
    if result["mean"]:
        out.print(plain_text(f"mean of {len(result['benches'])} benches", "italic"))
        out.print(_recipes_table(result["mean"]))
        out.print()
    first = result["benches"][0]["rows"][0]["recipe"]
    legend = f"▲ better, ▼ worse than {first} by more than chance: p < .05, paired randomisation test, Holm"
    out.print(plain_text(legend, "dim"), soft_wrap=True)


def _recipes_table(rows: Sequence[Result]) -> Table:
    """Return a row for each recipe: the best of each column in bold, significant differences from the first marked."""
    several = len({row["snapshot"] for row in rows if "snapshot" in row}) > 1
    timed = all("latency_ms" in row for row in rows)
    headers = [metric.header.replace("@", "\n@") for metric in METRICS] + (["p50\nms"] if timed else [])
    best = best_values(row["metrics"] for row in rows)
    cells = [
        (
            row["recipe"],
            *([row["snapshot"]] if several else []),
            *(metric_text(row["metrics"][m.key], best[m.key]) + _significance(row, m.key) for m in METRICS),
            *([f"{row['latency_ms']['p50']:.1f}"] if timed else []),
        )
        for row in rows
    ]
    return make_table((name_column("recipe"), *(["snapshot"] if several else []), *number_columns(*headers)), cells)


def _significance(row: Result, metric: str) -> Text:
    change = (row.get("difference") or {}).get(metric)
    if change is None or change["p"] >= _SIGNIFICANT:
        return Text(" ")
    return Text("▲", "green") if change["difference"] > 0 else Text("▼", "red")


def show_gain(report: "TrainingReport") -> None:
    """Print what a trained encoder learned from, and its gain on each catalog with the 95 % interval."""
    data, gain = report.data, report.gain
    facts = [
        ("base", f"{report.base['name']} ({report.base['revision']})"),
        ("learned from", f"{data['pairs']:,} requests of {len(data['catalogs'])} catalogs, {data['tools']:,} tools"),
        ("held back", f"{data['held_out']:,} requests of {data['held_back_providers']:,} providers"),
        ("steps", f"{report.steps:,}"),
        ("everyday requests mistaken", " → ".join(f"{share:.3f}" for share in gain["mistaken"])),
    ]
    for row in gain["rows"]:
        change = row["difference"]
        more = f", {change['difference']:+.3f} ({interval_text(change['interval'])}), p {_p(change)}" if change else ""
        mrr = f"MRR {row['before']['mrr']:.3f} → {row['after']['mrr']:.3f}{more}"
        facts.append((row["catalog"], f"{row['requests']:,} requests: {mrr}"))
    out.print(facts_table(facts))
    out.print("MRR: mean reciprocal rank of the requests' tools by vector", style="dim")
