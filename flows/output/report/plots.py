"""The plots of an evaluation as SVG to stand inside a page, in the page's own colours, light or dark."""

import io
import re
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from router import Signal
from router.evaluation import K
from router.evaluation.summary import CURVE, RANKS

# Drawn in these, and replaced by the page's variables: a drawing cannot name them itself.
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
    """The plots that an evaluation has figures for, by name: recall, ranks, reliability."""
    with mpl.rc_context(_STYLE):
        drawn = {"recall": _recall(result["recall_by_k"]), "ranks": _ranks(result["ranks"])}
        if result["reliability"]:
            drawn["reliability"] = _reliability(result["reliability"])
        return {name: _svg(figure, name) for name, figure in drawn.items() if figure is not None}


def _recall(curves: Mapping[str, Any]) -> Figure | None:
    """Recall and full recall by k, a line a list."""
    held = {name: curve for name, curve in curves.items() if curve}
    if not held:
        return None
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, of, title in zip(panels, ("recall", "full"), ("any acceptable tool", "all steps (mean)"), strict=True):
        for name, curve in held.items():
            axes.plot(CURVE, curve[of], color=_LISTS[name], linewidth=2.4 if name == "fused" else 1.2, label=name)
        axes.axvline(K, color=_MUTED, linewidth=0.8, linestyle=":")
        axes.set(title=title, xlabel="k", xlim=(1, CURVE[-1]), ylim=(0, 1.02), xticks=(1, 5, 10, 15, 20))
    panels[0].set_ylabel("recall in the first k")
    panels[1].legend(loc="lower right")
    return figure


def _ranks(ranks: Mapping[str, Any]) -> Figure | None:
    """At which rank the first acceptable tool stands: a bar of shares a list, best rank first."""
    held = {name: counts for name, counts in ranks.items() if counts}
    if not held:
        return None
    figure = Figure(figsize=(_WIDTH, 0.7 + 0.38 * len(held)), layout="constrained")
    axes = figure.subplots()
    edges = [*map(str, RANKS), "beyond"]
    for i, edge in enumerate(edges):
        shares = [counts[edge] / sum(counts.values()) for counts in held.values()]
        starts = [sum(counts[e] for e in edges[:i]) / sum(counts.values()) for counts in held.values()]
        alpha = 1 - 0.9 * i / (len(edges) - 1)
        axes.barh(list(held), shares, left=starts, color=_FILL, alpha=alpha, height=0.72, label=_span(i))
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 1), xlabel="share of requests, by the rank of their first acceptable tool")
    figure.legend(loc="outside upper center", ncols=len(edges), handlelength=1, columnspacing=1, handletextpad=0.4)
    return figure


def _reliability(reliability: Mapping[str, Any]) -> Figure:
    """What the probability said beside what was so; on the diagonal it is right."""
    figure = Figure(figsize=(_WIDTH / 2, _WIDTH / 2), layout="constrained")
    axes: Axes = figure.subplots()
    axes.plot((0, 1), (0, 1), color=_MUTED, linewidth=0.8, linestyle=":")
    for found in reliability["bins"]:
        low, high = found["interval"]
        axes.plot((found["said"],) * 2, (low, high), color=_FILL, linewidth=1.2, clip_on=False)
        axes.plot(found["said"], found["answerable"], "o", color=_FILL, markersize=5, clip_on=False)
        axes.annotate(
            f"{found['requests']}",
            (found["said"], found["answerable"]),
            xytext=(5, -3),
            textcoords="offset points",
            fontsize=8,
            color=_MUTED,
        )
    axes.set(xlabel="probability that some tool fits", ylabel="share that a tool answers", xlim=(0, 1), ylim=(0, 1.02))
    return figure


def _span(i: int) -> str:
    if i == len(RANKS):
        return f"past {RANKS[-1]}"
    first = RANKS[i - 1] + 1 if i else 1
    return str(RANKS[i]) if first == RANKS[i] else f"{first}–{RANKS[i]}"


def _svg(figure: Figure, name: str) -> str:
    """A figure as an SVG element. Its ids get the plot's name before them: those of several plots meet on one page."""
    FigureCanvasSVG(figure)
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return svg
