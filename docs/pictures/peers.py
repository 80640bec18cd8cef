"""Draw benchmarks/results/compare.json as docs/pictures/peers.svg: `python -m docs.pictures.peers`.

A panel for each set, a point for each selector of tools: nDCG@10 against the median of CPU milliseconds a request. The
line is the frontier of those that read the tools' own text; hollow points read expansions too. The colours have enough
contrast on white and on black, and the background is transparent.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Bbox

from benchmarks.support.peer_figures import frontier
from benchmarks.support.peer_tables import EXPANDED, OURS, OWN_TEXT, label, points
from benchmarks.support.peers.registry import PEERS

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / "benchmarks" / "results" / "compare.json"

TEXT = "#7d7d7d"
COLOURS = {"ours": "#3d85c6", "words": "#c27c0e", "vectors": "#1a9a72", "both": "#c15b9b"}
KINDS = {"ours": "Quartermaster", "words": "words", "vectors": "vectors", "both": "words and vectors"}
SETS = {"azure_mcp": "Azure MCP", "metatool": "MetaTool", "ultratool": "UltraTool", "demo": "catalogs/demo",
        "composio": "Composio", "toolret_apigen": "APIGen", "rest_chains": "REST chains"}  # fmt: skip
WIDTH, HEIGHT = 7.5, 4.4  # inches of a panel
LETTER_PT, LINE_PT = 3.6, 7.5  # a letter's width and a line's height at the size of the labels
OFFSETS = [(x, y) for far in (5, 12, 20, 30, 42, 56) for y in (0, far, -far) for x in (far, -far)]  # points


def draw(sets: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the picture of sets as the benchmark writes them."""
    figure = Figure(figsize=(WIDTH, 0.5 + HEIGHT * len(sets)), layout="constrained")
    FigureCanvasSVG(figure)
    figure.patch.set_alpha(0)
    for panel, found in zip(figure.subplots(len(sets), 1, squeeze=False)[:, 0], sets, strict=True):
        _draw_set(panel, found)
    panel.set_xlabel("CPU milliseconds a request (median, one thread)", color=TEXT, fontsize=8)
    marks = [Line2D([], [], marker="o", linestyle="", color=COLOURS[kind], label=KINDS[kind]) for kind in KINDS]
    marks.append(Line2D([], [], marker="o", linestyle="", color=TEXT, markerfacecolor="none", label=EXPANDED))
    marks.append(Line2D([], [], color=TEXT, label="frontier, own text"))
    figure.legend(
        handles=marks, loc="outside upper center", ncols=len(marks), fontsize=7, labelcolor=TEXT, frameon=False
    )
    return figure


def _draw_set(panel: Axes, found: Mapping[str, Any]) -> None:
    shown = [(text, name, *at) for text in (OWN_TEXT, EXPANDED) for name, at in points(found, text).items()]
    _set_axes(panel, found, [at[2:] for at in shown])
    own = points(found, OWN_TEXT)
    best = [own[name] for name in frontier(own)]
    panel.plot(*zip(*best, strict=True), color=TEXT, linewidth=1, drawstyle="steps-post", zorder=1)
    for text, name, ms, quality in shown:
        colour = COLOURS["ours" if name in OURS else PEERS[name].kind]
        face = colour if text == OWN_TEXT else "none"
        panel.plot(ms, quality, "o", color=colour, markerfacecolor=face, markersize=5 if name in OURS else 4)
    for (_, name, ms, quality), offset in zip(shown, _offsets(panel, shown), strict=True):
        colour = COLOURS["ours"] if name in OURS else TEXT
        panel.annotate(
            label(name),
            (ms, quality),
            offset,
            textcoords="offset points",
            fontsize=6,
            color=colour,
            ha="left" if offset[0] > 0 else "right",
            va="center",
            arrowprops={"arrowstyle": "-", "color": TEXT, "linewidth": 0.3, "shrinkA": 0, "shrinkB": 2},
        )


def _set_axes(panel: Axes, found: Mapping[str, Any], places: Sequence[tuple[float, float]]) -> None:
    panel.set_xscale("log")
    times, qualities = zip(*places, strict=True)
    panel.set_xlim(min(times) / 3, max(times) * 4)
    room = 0.08 * (max(qualities) - min(qualities)) + 0.01
    panel.set_ylim(min(qualities) - room, max(qualities) + room)
    title = f"{SETS.get(found['set'], found['set'])}: {found['tools']} tools, {found['requests']} requests"
    panel.set_title(title, fontsize=9, color=TEXT, loc="left")
    panel.set_ylabel("nDCG@10", color=TEXT, fontsize=8)
    panel.patch.set_alpha(0)
    panel.grid(color=TEXT, alpha=0.25, linewidth=0.6)
    panel.tick_params(colors=TEXT, labelsize=8, length=0, which="both")
    panel.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
    for spine in panel.spines.values():
        spine.set_visible(False)


def _offsets(panel: Axes, shown: Sequence[tuple[str, str, float, float]]) -> Iterator[tuple[float, float]]:
    """Yield where each label goes, in points from its own: the first place that covers no other label and few marks."""
    scale = (72 * WIDTH * 0.9, 72 * HEIGHT * 0.85)  # the panel in points, about
    (low, high), (bottom, top) = panel.get_xlim(), panel.get_ylim()
    marks = [
        (scale[0] * math.log(ms / low) / math.log(high / low),
         scale[1] * (quality - bottom) / (top - bottom))
        for *_, ms, quality in shown
    ]  # fmt: skip
    taken: list[Bbox] = []
    for (_, name, *_), (x, y) in zip(shown, marks, strict=True):
        boxes = [_box(x, y, offset, len(label(name))) for offset in OFFSETS]
        costs = [
            10 * box.count_overlaps(taken) + sum(box.contains(*mark) for mark in marks)
            + 20 * (box.x0 < 0 or box.x1 > scale[0] or box.y0 < 0 or box.y1 > scale[1])
            for box in boxes
        ]  # fmt: skip
        place = costs.index(min(costs))
        taken.append(boxes[place])
        yield OFFSETS[place]


def _box(x: float, y: float, offset: tuple[float, float], letters: int) -> Bbox:
    left = x + offset[0] - (LETTER_PT * letters if offset[0] < 0 else 0)
    return Bbox.from_bounds(left, y + offset[1] - LINE_PT / 2, LETTER_PT * letters, LINE_PT)


def main(folder: Path = HERE) -> None:
    """Draw the stored figures into a folder."""
    sets = json.loads(FIGURES.read_text(encoding="utf-8"))["sets"]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "peers", "font.family": "sans-serif"}):
        draw(sets).savefig(folder / "peers.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
