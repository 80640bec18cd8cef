"""The tables of `benchmarks.compare`: a row for each selector, the best first, and a line for each without figures."""

from collections.abc import Iterator, Mapping, Sequence
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


def tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of a set for a terminal: quality and cost, and if it was measured, callers at once.

    `*` stands at selectors on the frontier of their text.
    """
    for title, headings, rows, caption in _tables(found):
        shown = Table(title=title, box=None, title_justify="left", caption=caption, caption_justify="left")
        for place, heading in enumerate(headings):
            shown.add_column(heading, justify="right" if place else "left", no_wrap=True)
        for cells in rows:
            shown.add_row(*cells)
        yield shown


def markdown(found: Mapping[str, Any]) -> str:
    """Return the same tables in Markdown."""
    lines = []
    for title, headings, rows, caption in _tables(found):
        lines += [f"**{title}**", "", "| " + " | ".join(headings) + " |", "|---|" + "---:|" * (len(headings) - 1)]
        lines += ["| " + " | ".join(cells) + " |" for cells in rows] + ["", caption, ""]
    return "\n".join(lines)


def _tables(found: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str], Sequence[tuple[str, ...]], str]]:
    yield _title(found), _HEADINGS, list(_rows(found)), _caption(found)
    ranked = [(text, name, row) for text, name, row in _ranked(found) if "callers" in row]
    if ranked:
        callers = ranked[0][2]["callers"]
        headings = ("", _METRICS[QUALITY], *(f"{number} callers: /s, p50, p99 ms" for number in callers))
        rows = [
            (label(name, text), _quality(row), *(_at_once(asked) for asked in row["callers"].values()))
            for text, name, row in ranked
        ]
        yield f"{_title(found)}: callers at once", headings, rows, "milliseconds of wall clock, waiting included"


def _at_once(asked: Mapping[str, float]) -> str:
    return f"{asked['requests/s']:.0f}, {_ms(asked['p50'])}, {_ms(asked['p99'])}"


def _quality(row: Mapping[str, Any], key: str = QUALITY) -> str:
    return f"{row['metrics'][key]:.3f}"


def _ranked(found: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    ranked = [(text, name, row) for text in (EXPANDED, OWN_TEXT) for name, row in found.get(text, {}).items()]
    return sorted(ranked, key=lambda item: -item[2]["metrics"][QUALITY])


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
    best = {text: frontier(points(found, text)) for text in (OWN_TEXT, EXPANDED)}
    for text, name, row in _ranked(found):
        times = [_ms(row[clock][at]) for clock in ("ms", "cpu_ms") for at in ("p50", "p95")]
        sizes = (f"{row['build_s']:.1f}", f"{row['build_cpu_s']:.1f}", f"{row['rss_mb']:.0f}")
        metrics = [_quality(row, key) for key in _METRICS]
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
