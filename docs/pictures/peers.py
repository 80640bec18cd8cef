"""Draw benchmarks/results/peer_quality.json as docs/pictures/peers.svg: `python docs/pictures/peers.py`.

A panel for each set, a line for each router: nDCG@10 by own text (hollow) and with expansions (filled), with 95 %
intervals. The colours have enough contrast on white and on black, and the background is transparent.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / "benchmarks" / "results" / "peer_quality.json"

METRIC = "ndcg@10"
OURS, PEERS, TEXT = "#3d85c6", "#c27c0e", "#7d7d7d"
TEXTS = ("own text", "with expansions")
ROUTERS = {
    "fastmcp-bm25": "FastMCP BM25 search",
    "toolpicker-bm25": "ToolPicker, BM25",
    "ratel-bm25": "ratel, BM25",
    "bm25s-parameters": "bm25s",
    "langgraph-bigtool": "langgraph-bigtool",
    "semantic-router": "semantic-router",
    "toolpicker-hybrid": "ToolPicker, hybrid",
    "ratel-hybrid": "ratel, hybrid",
    "rrf": "RRF of bm25s and MiniLM",
    "quartermaster": "Quartermaster",
}
SETS = {"azure_mcp": "Azure MCP", "metatool": "MetaTool", "ultratool": "UltraTool", "demo": "catalogs/demo",
        "composio": "Composio"}  # fmt: skip


def draw(sets: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the picture of sets as the benchmark writes them."""
    routers = [name for name in ROUTERS if all(name in found[TEXTS[0]] for found in sets)]
    figure = Figure(figsize=(2.2 + 1.75 * len(sets), 0.95 + 0.27 * len(routers)), layout="constrained")
    FigureCanvasSVG(figure)
    figure.patch.set_alpha(0)
    panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    for panel, found in zip(panels, sets, strict=True):
        _draw_set(panel, found, routers)
    panels[0].set_yticks(range(len(routers)), [ROUTERS[name] for name in routers], color=TEXT)
    figure.supxlabel("nDCG@10, 95 % intervals    ○ own text    ● with the same expansions", color=TEXT, fontsize=8)
    return figure


def _draw_set(panel: Axes, found: Mapping[str, Any], routers: Sequence[str]) -> None:
    for line, name in enumerate(routers):
        colour = OURS if name == "quartermaster" else PEERS
        for text, offset in zip(TEXTS, (-0.13, 0.13), strict=True):
            if row := found.get(text, {}).get(name):
                mean, (low, high) = row["metrics"][METRIC], row["intervals"][METRIC]
                face = "none" if text == TEXTS[0] else colour
                panel.plot([low, high], [line + offset] * 2, color=colour, linewidth=1)
                panel.plot(mean, line + offset, "o", color=colour, markerfacecolor=face, markersize=4.5)
    panel.set_title(f"{SETS.get(found['set'], found['set'])}, {found['tools']} tools", fontsize=8, color=TEXT)
    panel.patch.set_alpha(0)
    panel.grid(axis="x", color=TEXT, alpha=0.25, linewidth=0.6)
    panel.tick_params(colors=TEXT, labelsize=8, length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)


def main(folder: Path = HERE) -> None:
    """Draw the stored figures into a folder."""
    sets = json.loads(FIGURES.read_text(encoding="utf-8"))["sets"]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "peers", "font.family": "sans-serif"}):
        draw(sets).savefig(folder / "peers.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
