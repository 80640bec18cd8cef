"""The tables of `benchmarks.compare`: a row for each selector, the best first, and a line for each without figures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from benchmarks.support.peer_figures import frontier
from benchmarks.support.peers.registry import PEERS

OWN_TEXT, EXPANDED = "own text", "with expansions"
QUALITY = "ndcg@10"
_METRICS = {"recall@10": "Success@10", "mrr@10": "MRR@10", "full@10": "Full@10", QUALITY: "nDCG@10"}
_HEADINGS = ("", *_METRICS.values(), "lead", "p50 ms", "p95 ms", "CPU p50", "CPU p95", "build s", "CPU s", "MB")


@dataclass(frozen=True, slots=True)
class Ours:
    """One of Quartermaster's rows: a recipe (None is the default one) and the encoder of its snapshot."""

    label: str
    recipe: str | None
    encoder: str


OURS = {
    "quartermaster": Ours("Quartermaster", None, "all-MiniLM-L6-v2"),
    "quartermaster-lexical": Ours("Quartermaster, lexical", "lexical", "all-MiniLM-L6-v2"),
    "quartermaster-packaged": Ours("Quartermaster, packaged encoder", None, "minilm-tools-v1"),
}


def label(name: str, text: str = OWN_TEXT) -> str:
    """Return the name of a selector in tables and plots, with the text that it read."""
    known: Any = OURS.get(name) or PEERS.get(name)
    shown = known.label if known else name
    return shown if text == OWN_TEXT else f"{shown}, {text}"


def points(found: Mapping[str, Any], text: str) -> dict[str, tuple[float, float]]:
    """Return (CPU milliseconds, nDCG@10) of each selector of a set: the median of the requests, and their mean."""
    rows = found.get(text, {})
    return {name: (row["cpu_ms"]["p50"], row["metrics"][QUALITY]) for name, row in rows.items()}


def table(found: Mapping[str, Any]) -> Table:
    """Return the table of a set for a terminal. `*` stands at selectors on the frontier of their text."""
    shown = Table(title=_title(found), box=None, title_justify="left", caption=_caption(found), caption_justify="left")
    for place, heading in enumerate(_HEADINGS):
        shown.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for cells in _rows(found):
        shown.add_row(*cells)
    return shown


def markdown(found: Mapping[str, Any]) -> str:
    """Return the table of a set in Markdown."""
    lines = [f"**{_title(found)}**", "", "| " + " | ".join(_HEADINGS) + " |"]
    lines.append("|---|" + "---:|" * (len(_HEADINGS) - 1))
    lines += ["| " + " | ".join(cells) + " |" for cells in _rows(found)]
    return "\n".join([*lines, "", _caption(found), ""])


def _title(found: Mapping[str, Any]) -> str:
    return f"{found['set']}, {found['tools']} tools, {found['requests']} requests"


def _caption(found: Mapping[str, Any]) -> str:
    absent = [
        f"not measured: {label(name, text)}: {reason}"
        for text, missing in found["not measured"].items()
        for name, reason in missing.items()
    ]
    machine, versions = found["machine"], found["versions"]
    where = f"{machine['cpu']}, {machine['cores']} cores, load {machine['load_at_start'][0]}, one thread"
    where += f"; Python {versions['python']}, Quartermaster {versions['quartermaster']}"
    marks = "* on the frontier: no selector with the same text is as quick (CPU p50) and better."
    leads = "lead: Quartermaster's in points of nDCG@10, in brackets where chance explains it (p > .05)."
    return "\n".join([marks, leads, where, *absent])


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    ranked = [(text, name, row) for text in (EXPANDED, OWN_TEXT) for name, row in found.get(text, {}).items()]
    best = {text: frontier(points(found, text)) for text in (OWN_TEXT, EXPANDED)}
    for text, name, row in sorted(ranked, key=lambda item: -item[2]["metrics"][QUALITY]):
        times = [_ms(row[clock][at]) for clock in ("ms", "cpu_ms") for at in ("p50", "p95")]
        sizes = (f"{row['build_s']:.1f}", f"{row['build_cpu_s']:.1f}", f"{row['rss_mb']:.0f}")
        metrics = [f"{row['metrics'][key]:.3f}" for key in _METRICS]
        mark = "*" if name in best[text] else ""
        yield (f"{label(name, text)}{mark}", *metrics, _lead(row), *times, *sizes)


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _lead(row: Mapping[str, Any]) -> str:
    gain = row.get("difference", {}).get(QUALITY)
    if not gain:
        return ""
    shown = f"{100 * gain['difference']:+.1f}"
    return shown if gain["p"] <= 0.05 else f"({shown})"
