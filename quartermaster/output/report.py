"""An evaluation as one self-contained HTML file: a verdict in three sentences, figures, plots, the worst requests."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.table import Column, Row, Table
from rich.text import Text

from quartermaster.evaluation import SUCCESS_AT_1
from quartermaster.evaluation.metrics import FullRecall, K, Success
from quartermaster.output.comparison import kind_text
from quartermaster.output.evaluation import sections
from quartermaster.output.plots import LABELS, plots
from router.tools.trust.characters import show_hidden

_MIN_REQUESTS = 10  # of a slice: fewer say nothing of it
_FOUND, _COVERED, _FIRST = Success(K).key, FullRecall(K).key, SUCCESS_AT_1.key


def write_report(file: Path, result: Mapping[str, Any]) -> None:
    """Write the report of an evaluation's JSON: `quartermaster.evaluation.figures`, worst, ablation and against."""
    file.write_text(render_report(result), encoding="utf-8")


def render_report(result: Mapping[str, Any]) -> str:
    """Return the report as HTML. Texts of catalogs and requests are escaped, hidden characters shown."""
    environment = Environment(
        loader=PackageLoader("quartermaster.output", "."),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cells": _cells, "look": _look}
    return environment.get_template("evaluation.html.jinja").render(
        result=result,
        verdict=verdict(result),
        sections=list(sections(result, result["worst"], page=True)),
        plots={name: Markup(svg) for name, svg in plots(result).items()},  # noqa: S704 - our own, text escaped
        labels=LABELS,
    )


def _shown(value: Any) -> Any:
    return type(value)(show_hidden(value)) if isinstance(value, str) else value  # Markup stays Markup


def _cells(table: Table) -> list[tuple[Row, tuple[Text, ...]]]:
    columns: list[list[Any]] = [list(column.cells) for column in table.columns]
    return list(zip(table.rows, zip(*columns, strict=True), strict=True))


def _look(column: Column, cell: Text) -> str:
    """Return the classes of a cell: where it stands, and its style where the page has one of that name."""
    return f"{column.justify} {cell.style or column.style}"


def verdict(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is found, where least, and when no tool fits: a line of plain words each, for an evaluation's JSON.

    No line breaks before a percent sign.
    """
    return tuple(line.replace(" %", "\u00a0%") for line in (_found(result), _weakest(result), _refusals(result)))


def _found(result: Mapping[str, Any]) -> str:
    values = result["signals"]["fused"]
    if values[_FOUND] is None:
        return "No request that a tool answers was judged, so nothing can be said of what is found."
    count = result["queries"] - result["by"].get("kind", {}).get("none", {}).get("queries", 0)
    requests = f"Of {count:,} {'request' if count == 1 else 'requests'} that a tool answers"
    found = f"{percent(values[_FOUND])} find one among the first {K}"
    covered = (
        ""
        if values[_COVERED] is None
        else f" On average, {percent(values[_COVERED])} of a request's steps find a tool there."
    )
    interval = _interval(result["intervals"]["fused"][_FOUND])
    return f"{requests}, {found}{interval}, {percent(values[_FIRST])} find it first.{covered}"


def _weakest(result: Mapping[str, Any]) -> str:
    overall = result["signals"]["fused"][_COVERED]
    slices = [(name, values) for name, values in _slices(result) if values[_COVERED] is not None]
    if overall is None or not slices:
        return f"No slice has {_MIN_REQUESTS} judged requests, so none can be called the weakest."
    name, values = min(slices, key=lambda pair: pair[1][_COVERED])
    if values[_COVERED] >= overall:
        return f"No slice of {_MIN_REQUESTS} requests or more is weaker than the whole."
    covered = f"{percent(values[_COVERED])} of their steps find a tool among the first {K}"
    return f"Weakest: {name}, {values['queries']:,} requests: {covered}{_interval(values['intervals'][_COVERED])}."


def _refusals(result: Mapping[str, Any]) -> str:
    no_tool = result["no_tool"]
    if no_tool is None:
        return "How well the router knows that no tool fits was not measured: no judged request is of kind none."
    low, high = no_tool["auc_interval"]
    wrongly, rightly = percent(no_tool["refused_wrongly"]), percent(no_tool["refused"])
    auc = f"{no_tool['auc']:.2f} (95 % interval {low:.2f}–{high:.2f}; 0.5 is chance)"
    refused = f"{wrongly} of the answerable requests are refused as fitting no tool, and {rightly} of the unanswerable"
    return f"Refusals: {refused}. The probability that some tool fits tells the two apart with an AUC of {auc}."


def _slices(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the slices that are large enough, by the names that people read."""
    for sort, of_sort in {"slice": result["slices"], **result["by"]}.items():
        for kind, values in of_sort.items():
            if values["queries"] >= _MIN_REQUESTS:
                yield f"slice {kind!r}" if sort == "slice" else kind_text(sort, kind), values


def _interval(bounds: list[float] | None) -> str:
    return "" if bounds is None else f" (95 % interval {100 * bounds[0]:.0f}–{100 * bounds[1]:.0f} %)"


def percent(share: float) -> str:
    """Return a share as a whole percentage; one that is not whole is never shown as 0 or 100."""
    text = f"{share:.0%}"
    if (text == "100%" and share < 1) or (text == "0%" and share > 0):
        text = f"{share:.1%}"
        text = {"100.0%": "over 99.9%", "0.0%": "under 0.1%"}.get(text, text)
    return text.replace("%", " %")
