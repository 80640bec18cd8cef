"""The plots of an evaluation as SVG for a page, in the page's own colours, light or dark."""

import io
import re
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from quartermaster.evaluation import Cause, K
from quartermaster.evaluation.summary import CURVE, RANKS
from router import Signal

# Placeholder colours, replaced by the page's CSS variables, which matplotlib cannot name.
_INK, _MUTED, _FILL = "#0a0b01", "#0a0b02", "#0a0b03"
_LISTS = {name: f"#0a0c0{i}" for i, name in enumerate((*Signal, "fused"), 1)}
_VARIABLES = {_INK: "ink", _MUTED: "muted", _FILL: "accent", **{colour: name for name, colour in _LISTS.items()}}
_WIDTH, _HEIGHT = 8.4, 3.0  # inches
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "quartermaster",  # the same figures, the same file
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": _MUTED,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


def plots(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the plots by name (recall, ranks, causes, reliability), those that the evaluation has figures for."""
    with mpl.rc_context(_STYLE):
        figures = {
            "recall": _recall(result["recall_by_k"]),
            "ranks": _ranks(result["ranks"]),
            "causes": _causes(result["causes"]),
        }
        if result["reliability"]:
            figures["reliability"] = _reliability(result["reliability"])
        return {name: _svg(figure, name) for name, figure in figures.items() if figure is not None}


def _recall(curves: Mapping[str, Any]) -> Figure | None:
    """Return recall and full recall by k, a line for each list."""
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return None
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, metric, title in zip(
        panels, ("recall", "full"), ("any acceptable tool", "all steps (mean)"), strict=True
    ):
        for name, curve in curves.items():
            axes.plot(CURVE, curve[metric], color=_LISTS[name], linewidth=2.4 if name == "fused" else 1.2, label=name)
        axes.axvline(K, color=_MUTED, linewidth=0.8, linestyle=":")
        axes.set(title=title, xlabel="k", xlim=(1, CURVE[-1]), ylim=(0, 1.02), xticks=(1, 5, 10, 15, 20))
    panels[0].set_ylabel("recall in the first k")
    panels[1].legend(loc="lower right")
    return figure


def _ranks(ranks: Mapping[str, Any]) -> Figure | None:
    """Return a bar for each list: shares of requests by the rank of their first acceptable tool, best rank first."""
    ranks = {name: counts for name, counts in ranks.items() if counts}
    if not ranks:
        return None
    figure = Figure(figsize=(_WIDTH, 0.7 + 0.38 * len(ranks)), layout="constrained")
    axes = figure.subplots()
    edges = [*map(str, RANKS), "beyond"]
    for i, edge in enumerate(edges):
        shares = [counts[edge] / sum(counts.values()) for counts in ranks.values()]
        starts = [sum(counts[e] for e in edges[:i]) / sum(counts.values()) for counts in ranks.values()]
        alpha = 1 - 0.9 * i / (len(edges) - 1)
        axes.barh(list(ranks), shares, left=starts, color=_FILL, alpha=alpha, height=0.72, label=_rank_range(i))
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 1), xlabel="share of requests, by the rank of their first acceptable tool")
    figure.legend(loc="outside upper center", ncols=len(edges), handlelength=1, columnspacing=1, handletextpad=0.4)
    return figure


def _causes(causes: Mapping[str, Any]) -> Figure | None:
    """Return a bar for each cause that occurs: its missed steps, by the list that came nearest."""
    rows = {cause: causes["by_cause"][cause] for cause in Cause if causes["by_cause"][cause]["steps"]}
    if not rows:
        return None
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.34 * len(rows)), layout="constrained")
    axes = figure.subplots()
    labels, starts = [cause.label for cause in rows], [0] * len(rows)
    for name in next(iter(rows.values()))["nearest"]:
        counts = [row["nearest"][name] for row in rows.values()]
        if any(counts):
            label, colour = (name, _LISTS[name]) if name in _LISTS else ("no list", _MUTED)
            axes.barh(labels, counts, left=starts, color=colour, height=0.72, label=label)
            starts = [start + count for start, count in zip(starts, counts, strict=True)]
    for place, total in enumerate(starts):
        axes.annotate(f"{total:,}", (total, place), xytext=(4, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)
    axes.set(xlabel="missed steps, by the list that came nearest", xlim=(0, 1.08 * max(starts)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside upper center", ncols=6, handlelength=1, columnspacing=1, handletextpad=0.4)
    return figure


def _reliability(reliability: Mapping[str, Any]) -> Figure:
    """Return the predicted probability against the observed share; a calibrated one lies on the diagonal."""
    figure = Figure(figsize=(_WIDTH / 2, _WIDTH / 2), layout="constrained")
    axes: Axes = figure.subplots()
    axes.plot((0, 1), (0, 1), color=_MUTED, linewidth=0.8, linestyle=":")
    for bin_ in reliability["bins"]:
        low, high = bin_["interval"]
        axes.plot((bin_["said"],) * 2, (low, high), color=_FILL, linewidth=1.2, clip_on=False)
        axes.plot(bin_["said"], bin_["answerable"], "o", color=_FILL, markersize=5, clip_on=False)
        axes.annotate(
            f"{bin_['requests']}",
            (bin_["said"], bin_["answerable"]),
            xytext=(5, -3),
            textcoords="offset points",
            fontsize=8,
            color=_MUTED,
        )
    axes.set(xlabel="probability that some tool fits", ylabel="share that a tool answers", xlim=(0, 1), ylim=(0, 1.02))
    return figure


def _rank_range(i: int) -> str:
    if i == len(RANKS):
        return f"past {RANKS[-1]}"
    first = RANKS[i - 1] + 1 if i else 1
    return str(RANKS[i]) if first == RANKS[i] else f"{first}–{RANKS[i]}"


def _svg(figure: Figure, name: str) -> str:
    """Return a figure as an SVG element. Its ids are prefixed with the plot's name, to be unique on the page."""
    FigureCanvasSVG(figure)
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return svg
