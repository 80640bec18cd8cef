"""The plots of an evaluation as SVG for a page, in the page's own colours, light or dark."""

import io
import re
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from quartermaster.evaluation import K
from quartermaster.evaluation.summary import CURVE, RANKS
from router import Signal

# Placeholder colours, replaced by the page's CSS variables, which matplotlib cannot name.
_INK, _MUTED, _FILL = "#0a0b01", "#0a0b02", "#0a0b03"
_LISTS = {name: f"#0a0c0{i}" for i, name in enumerate((*Signal, "fused"), 1)}
_VARIABLES = {_INK: "ink", _MUTED: "muted", _FILL: "accent", **{colour: name for name, colour in _LISTS.items()}}
_WIDTH = 8.4  # inches
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "quartermaster",  # the same figures, the same file
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
    **dict.fromkeys(("axes.edgecolor", "grid.color"), _MUTED),
}
LABELS = {  # for readers who do not see a plot
    "recall": "Recall in the first k tools, by k, for each list",
    "ranks": "Share of requests by the rank of their first acceptable tool, for each list",
    "reliability": "Share of answerable requests by the predicted probability",
}


def plots(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the plots by name (recall, ranks, reliability), those that the evaluation has figures for."""
    curves = {name: curve for name, curve in result["recall_by_k"].items() if curve}
    ranks = {name: counts for name, counts in result["ranks"].items() if counts}
    with mpl.rc_context(_STYLE):
        figures = {
            "recall": _recall(curves) if curves else None,
            "ranks": _ranks(ranks) if ranks else None,
            "reliability": _reliability(result["reliability"]) if result["reliability"] else None,
        }
        return {name: _svg(figure, name) for name, figure in figures.items() if figure is not None}


def _recall(curves: Mapping[str, Any]) -> Figure:
    """Return recall and full recall by k, a line for each list."""
    figure = Figure(figsize=(_WIDTH, 3), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"recall": "any acceptable tool", "full": "all steps (mean)"}
    for axes, (metric, title) in zip(panels, titles.items(), strict=True):
        for name, curve in curves.items():
            axes.plot(CURVE, curve[metric], color=_LISTS[name], linewidth=2.4 if name == "fused" else 1.2, label=name)
        axes.axvline(K, color=_MUTED, linewidth=0.8, linestyle=":")
        axes.set(title=title, xlabel="k", xlim=(1, CURVE[-1]), ylim=(0, 1.02), xticks=(1, 5, 10, 15, 20))
    panels[0].set_ylabel("recall in the first k")
    panels[1].legend(loc="lower right")
    return figure


def _ranks(ranks: Mapping[str, Mapping[str, int]]) -> Figure:
    """Return a bar for each list: shares of requests by the rank of their first acceptable tool, best rank first."""
    figure = Figure(figsize=(_WIDTH, 0.7 + 0.38 * len(ranks)), layout="constrained")
    axes = figure.subplots()
    left = np.zeros(len(ranks))
    for i, edge in enumerate((*map(str, RANKS), "beyond")):
        shares = [counts[edge] / sum(counts.values()) for counts in ranks.values()]
        axes.barh(
            list(ranks),
            shares,
            left=left,
            color=_FILL,
            alpha=1 - 0.9 * i / len(RANKS),
            height=0.72,
            label=_rank_range(i),
        )
        left = left + shares
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 1), xlabel="share of requests, by the rank of their first acceptable tool")
    figure.legend(loc="outside upper center", ncols=9, handlelength=1, columnspacing=1, handletextpad=0.4)
    return figure


def _rank_range(i: int) -> str:
    if i == len(RANKS):
        return f"past {RANKS[-1]}"
    first = RANKS[i - 1] + 1 if i else 1
    return str(RANKS[i]) if first == RANKS[i] else f"{first}–{RANKS[i]}"


def _reliability(reliability: Mapping[str, Any]) -> Figure:
    """Return the predicted probability against the observed share, a point a tenth, with the number of its requests.

    A calibrated probability lies on the diagonal.
    """
    figure = Figure(figsize=(_WIDTH / 2, _WIDTH / 2), layout="constrained")
    axes: Axes = figure.subplots()
    axes.plot((0, 1), (0, 1), color=_MUTED, linewidth=0.8, linestyle=":")
    for bin_ in reliability["bins"]:
        point = (bin_["said"], bin_["answerable"])
        axes.plot((point[0],) * 2, bin_["interval"], color=_FILL, linewidth=1.2, clip_on=False)
        axes.plot(*point, "o", color=_FILL, markersize=5, clip_on=False)
        axes.annotate(f"{bin_['requests']}", point, xytext=(5, -3), textcoords="offset points", color=_MUTED)
    axes.set(xlabel="probability that some tool fits", ylabel="share that a tool answers", xlim=(0, 1), ylim=(0, 1.02))
    return figure


def _svg(figure: Figure, name: str) -> str:
    """Return a figure as an SVG element. Its ids are prefixed with the plot's name, to be unique on the page."""
    FigureCanvasSVG(figure)
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = text.getvalue()
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return svg
