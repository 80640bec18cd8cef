"""Draw the plots of the documentation from `benchmarks/results`: `python docs/pictures/plots.py [FOLDER]`.

Each plot is an SVG that follows the reader's light or dark mode. The same results give the same bytes.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "benchmarks" / "results"

# Light mode's colours, and what a style sheet in the SVG makes of them in dark mode.
INK, MUTED, GRID, PAPER = "#1f2328", "#656d76", "#d8dee4", "#fefefe"
DARK = {INK: "#e6edf3", MUTED: "#9aa4af", GRID: "#343b44", PAPER: "#15181c"}
# Told apart by people with any colour vision, on both papers.
BLUE, ORANGE, GREEN, PINK = "#2f7fd0", "#d9731a", "#1a9a72", "#c15b9b"

WIDTH = 6.0  # inches: narrow, so that a phone still shows legible text
SETS = {
    "azure_mcp": "Azure MCP (200 tools)",
    "metatool": "MetaTool (199)",
    "ultratool": "UltraTool (436)",
    "toolpicker_synth": "ToolPicker synthetic (25)",
    "demo": "demo (206)",
    "toolret_apigen": "APIGen (3,605)",
}


def read(name: str) -> Any:
    """Return a file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def panels(rows: int, columns: int, height: float) -> tuple[Figure, Iterator[Axes]]:
    """Return a figure and its panels, row by row."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, iter(figure.subplots(rows, columns, squeeze=False).flat)


def legend(figure: Figure, axes: Axes, columns: int) -> None:
    """Put the legend of one panel above all of them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def quality() -> Figure:
    """Draw both headline metrics of each signal and of the fused list, a panel for each set."""
    figure, axes = panels(3, 2, 6.6)
    for (name, title), panel in zip(SETS.items(), axes, strict=True):
        bare = name == "toolret_apigen"
        figures = read(f"{name}.default.without-expansions" if bare else f"{name}.default")["signals"]
        signals = [
            signal for signal in ("fused", "dense", "expansion", "description", "name") if figures[signal]["ndcg@10"]
        ]
        for metric, label, colour, marker in (
            ("full@10", "Full Recall@10", BLUE, "o"),
            ("ndcg@10", "nDCG@10", ORANGE, "D"),
        ):
            values = [figures[signal][metric] for signal in signals]
            panel.plot(values, signals, marker, color=colour, label=label, markersize=6)
        panel.axhspan(-0.5, 0.5, color=GRID, alpha=0.6, zorder=0, linewidth=0)
        panel.set(title=f"{title}, no phrases" if bare else title, xlim=(0.2, 1.03), ylim=(-0.6, len(signals) - 0.4))
        panel.grid(axis="x")
    legend(figure, panel, 2)
    return figure


def latency() -> Figure:
    """Draw latency by catalog size, and the stages of the median."""
    sizes = {"10k": 9_998, "100k": 99_998, "1m": 999_998}
    figures = {size: read(f"latency_{size}")["figures"] for size in sizes}
    figure, (lines, bars) = panels(2, 1, 5.6)
    for recipe, colour in (("default", BLUE), ("lexical", ORANGE)):
        for percentile, style in (("p50", "o-"), ("p95", "o:")):
            values = [figures[size][recipe]["one step"][percentile] for size in sizes]
            lines.plot([*sizes.values()], values, style, color=colour, label=f"{recipe}, {percentile}")
    lines.set(title="A request of one step", xscale="log", yscale="log", xlabel="tools", ylabel="ms")
    lines.set_xticks([*sizes.values()], [f"{count + 2:,}" for count in sizes.values()])
    lines.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    lines.minorticks_off()
    lines.grid()
    lines.legend(ncols=2)
    groups = {
        "encoder": (["encode"], BLUE),
        "dense": (["dense", "candidates"], GREEN),
        "three BM25 lists": (["name", "description", "expansion"], ORANGE),
    }
    labels = [f"{count + 2:,} tools" for count in sizes.values()]
    left = [0.0] * len(sizes)
    for group, (stages, colour) in groups.items():
        values = [sum(figures[size]["default"][f"stage {stage}"]["p50"] for stage in stages) for size in sizes]
        bars.barh(labels, values, left=left, color=colour, label=group, height=0.6)
        left = [start + value for start, value in zip(left, values, strict=True)]
    bars.set(title="Largest stages of the recipe default, medians", xlabel="ms")
    bars.invert_yaxis()
    bars.grid(axis="x")
    bars.legend()
    return figure


def packing() -> Figure:
    """Draw full recall by token budget, a line for each way to pack."""
    budgets = {"250": 250, "500": 500, "1,000": 1_000, "2,000": 2_000}
    ways = {
        "shorten to signature": ("shortened to a signature", BLUE, "o-"),
        "shorten": ("shortened", GREEN, "s-"),
        "full": ("full only", ORANGE, "D-"),
        "knapsack": ("knapsack", PINK, "^:"),
    }
    figure, axes = panels(2, 2, 5.0)
    results = read("packing")["figures"]
    for name, panel in zip(("demo", "azure_mcp", "ultratool", "metatool"), axes, strict=True):
        for way, (label, colour, style) in ways.items():
            values = [results[name][f"{budget} · {way}"]["full recall"] for budget in budgets]
            panel.plot([*budgets.values()], values, style, color=colour, label=label, markersize=5)
        panel.axhline(results[name]["no budget"]["full recall"], color=MUTED, linestyle="--", linewidth=1)
        panel.set(title=SETS[name].partition(" (")[0], xscale="log", ylim=(0, 1.05))
        panel.set_xticks([*budgets.values()], [*budgets])
        panel.minorticks_off()
        panel.grid(axis="y")
    figure.supxlabel("token budget", fontsize=10, color=INK)
    figure.supylabel("Full Recall", fontsize=10, color=INK)
    legend(figure, panel, 2)
    return figure


def reliability() -> Figure:
    """Draw how often a tool fits, by the probability that `fits` gives."""
    figure, axes = panels(1, 2, 3.3)
    for name, panel in zip(("demo", "metatool"), axes, strict=True):
        bins = read(f"{name}.default")["reliability"]["bins"]
        said, share = [bar["said"] for bar in bins], [bar["answerable"] for bar in bins]
        errors = [[abs(bar["answerable"] - bar["interval"][side]) for bar in bins] for side in (0, 1)]
        panel.plot([0, 1], [0, 1], "--", color=MUTED, linewidth=1)
        panel.errorbar(said, share, errors, fmt="none", ecolor=MUTED, elinewidth=1)
        panel.scatter(said, share, [12 + bar["requests"] / 2 for bar in bins], color=BLUE, zorder=3)
        panel.set(title=SETS[name], xlim=(-0.03, 1.03), ylim=(-0.03, 1.05), aspect="equal", xlabel="mean of fits")
        panel.grid()
    figure.axes[0].set_ylabel("share with a fitting tool")
    return figure


def prompt_cache() -> Figure:
    """Draw what dialogues cost by how their tools are chosen, a panel for each length of messages."""
    figures = read("prompt_cache_drawn")["figures"]
    names = {"afresh": "best 8 afresh", "stable, 64": "StableSelection", "append-only": "append-only search"}
    names |= {"whole catalog": "all 206 tools"}
    lengths = ("120", "1000", "2000")
    figure, axes = panels(1, len(lengths), 2.6)
    for panel, length in zip(axes, lengths, strict=True):
        paid = [figures[f"{length}: {name}"]["paid"] / 1_000 for name in names]
        panel.barh([*names.values()], paid, color=[ORANGE, GREEN, GREEN, BLUE], height=0.6)
        for place, tokens in enumerate(paid):
            panel.annotate(f" {tokens:,.0f}", (tokens, place), va="center", color=INK)
        panel.set(title=f"{int(length):,} tokens a turn", xlabel="thousand paid", xlim=(0, 1.25 * max(paid)))
        panel.set_yticks(range(len(names)), names.values() if length == lengths[0] else [""] * len(names))
        panel.invert_yaxis()
        panel.grid(axis="x")
    return figure


def soak() -> Figure:
    """Draw memory and latency over a soak, with what was done to the server meanwhile."""
    rows = read("soak")["over time"]
    figure, (memory, latency, acts) = panels(3, 1, 5.6)
    memory.plot(rows["minute"], rows["pss"], color=BLUE)
    memory.set(title="Memory of all processes", ylabel="MB (Pss)", ylim=(0, 1.15 * max(filter(None, rows["pss"]))))
    latency.plot(rows["minute"], rows["p50"], color=BLUE, label="p50")
    latency.plot(rows["minute"], rows["p95"], ":", color=ORANGE, label="p95")
    latency.set(title="A request over HTTP", ylabel="ms", yscale="log")
    latency.legend(ncols=2)
    names = {"publication": GREEN, "kill": PINK, "reload": BLUE}
    for name, colour in names.items():
        moments = rows["events"].get(name, [])
        acts.plot(moments, [name] * len(moments), "|", color=colour, markersize=11, markeredgewidth=1.6)
    away = zip(
        sorted(at for name in ("bucket gone", "bucket hangs") for at in rows["events"][name]),
        rows["events"]["bucket back"],
        strict=True,
    )
    for start, end in away:
        for panel in (memory, latency, acts):
            panel.axvspan(start, end, color=GRID, alpha=0.8, zorder=0, linewidth=0)
    acts.set(title="What was done; grey: the bucket is away", xlabel="minutes", ylim=(-0.6, len(names) - 0.4))
    for panel in (memory, latency, acts):
        panel.set_xlim(0, rows["minute"][-1])
        panel.grid()
    return figure


PLOTS: dict[str, Callable[[], Figure]] = {
    "quality": quality,
    "latency": latency,
    "packing": packing,
    "reliability": reliability,
    "prompt_cache": prompt_cache,
    "soak": soak,
}


def save(figure: Figure, path: Path) -> None:
    """Write a figure as an SVG without a date, with a style sheet for dark mode."""
    figure.savefig(path, format="svg", metadata={"Date": None})
    rules = "".join(
        f'[style*="{part}: {light}"]{{{part}:{dark}!important}}'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    )
    svg = path.read_text(encoding="utf-8")
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    path.write_text(svg.replace(" <defs>", f" {style}\n <defs>", 1), encoding="utf-8")


def main(folder: Path) -> None:
    """Write every plot into a folder."""
    settings: dict[Any, Any] = {
        "svg.hashsalt": "quartermaster",
        "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
        "font.size": 9.5,
        "axes.titlesize": 10,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "grid.color": GRID,
        "axes.edgecolor": MUTED,
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK),
    }
    with mpl.rc_context(settings):
        for name, draw in PLOTS.items():
            save(draw(), folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
