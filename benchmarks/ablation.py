"""Measure what each idea gains, one by one: `python -m benchmarks.ablation SNAPSHOT=FOLDER… [--json FILE]`.

FOLDER holds judged requests and SNAPSHOT was built of it, with or without its expansions. Each row is a recipe, in
four blocks: ideas added to RRF as it was published, ideas taken from the default, other ways to fuse, and the default
without the tools that it brings though no request names them. Full Recall@10 and nDCG@10 with 95 % intervals, and the
difference from the first row of its block: bold where the paired randomisation test gives p < .05.

With `--misses`, the steps that the first ten tools of the default leave unmet, by cause.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.support.memoized_encoder import Remembering
from quartermaster.evaluation import (
    Cause,
    Judgement,
    ask,
    causes,
    compared,
    comparison_row,
    judgements_of,
    read_judgements,
)
from router import RECIPES, DenseView, Normalization, Recipe, Router, Signal
from router.contract import Expanded
from router.snapshot.snapshot import Snapshot

METRICS = ("full@10", "ndcg@10")
PUBLISHED, ADAPTIVE, STANDARD, DEFAULT = (RECIPES[name] for name in ("published", "adaptive", "standard", "default"))


def without(signal: Signal) -> Recipe:
    """The default with one signal less."""
    return replace(DEFAULT, weights={**DEFAULT.weights, signal: 0.0})


ADDED = {
    "published": PUBLISHED,
    "+ k = 5": replace(PUBLISHED, k=5),
    "+ phrase vectors": replace(PUBLISHED, dense_view=DenseView.MEAN),
    "+ adapter": replace(PUBLISHED, adapter=True),
    "+ steps": replace(PUBLISHED, steps=True),
    "+ adaptive weights": replace(PUBLISHED, adaptive=True),
}
TAKEN = {
    "default": DEFAULT,
    "- adapter": replace(DEFAULT, adapter=False),
    "- steps": replace(DEFAULT, steps=False),
    "- phrase vectors": replace(DEFAULT, dense_view=DenseView.DOCUMENT),
    "- document vectors": replace(DEFAULT, dense_view=DenseView.PHRASE),
    **{f"- {signal}": without(signal) for signal in (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, Signal.DENSE)},
}
FUSED = {
    "default": DEFAULT,
    "z-scores": STANDARD,
    "adaptive RRF, k = 5": ADAPTIVE,
    "- lead": replace(DEFAULT, lead=0),
    "- shortfall, k = 5": replace(DEFAULT, shortfall=0, k=5),
    "plain RRF, k = 5": replace(ADAPTIVE, adaptive=False),
    "min-max scores": replace(STANDARD, normalization=Normalization.MINMAX),
}
BROUGHT = {
    "default": DEFAULT,
    "- prerequisites": replace(DEFAULT, prerequisites=False),
    "- implicit needs": replace(DEFAULT, implicit_needs=False),
    "- both": replace(DEFAULT, prerequisites=False, implicit_needs=False),
}
BLOCKS = {"added": ADDED, "taken": TAKEN, "fused": FUSED, "brought": BROUGHT}


def measure(snapshot: Path, folder: Path, blocks: Sequence[str] = tuple(BLOCKS)) -> list[dict[str, Any]]:
    """A row a recipe: metrics, intervals, and the difference from the first of its block."""
    opened = Snapshot.open(snapshot)
    assert opened.encoder, f"{snapshot} has no encoder"
    router = Router(replace(opened, encoder=Remembering(opened.encoder, {})))
    judgements = [judgement for judgement in _judged(folder) if judgement.kind != "none"]
    rows = []
    has_expansions = opened.expanded is None or bool((opened.expanded == Expanded.YES).any())
    for block in blocks:
        first = None
        for name, recipe in BLOCKS[block].items():
            found = ask(router, judgements, replace(recipe, name=name), whole=False)
            first = first or found
            apart = {metric: d.to_json() for metric, d in compared(found, first).items() if d and metric in METRICS}
            named = {"bench": folder.resolve().name, "expansions": has_expansions, "block": block}
            rows.append({**named, **comparison_row(found), "difference": apart})
    return rows


def _judged(folder: Path) -> list[Judgement]:
    file = judgements_of(folder)
    assert file, f"{folder} holds no judged requests"
    return read_judgements(file)


def misses(snapshot: Path, folder: Path) -> dict[str, Any]:
    """The missed steps of a set by cause, without examples: requests may be private."""
    router = Router.open(snapshot)
    measured = ask(router, _judged(folder))
    found = causes(measured)
    for row in found["by_cause"].values():
        for key in ("examples", "meaning", "way_out"):
            del row[key]
    bare = "" if router.manifest.counts["phrases"] else " bare"
    return {"bench": folder.resolve().name + bare, "recipe": measured.recipe.name, "tools": len(router), **found}


def table_of_misses(rows: Sequence[dict[str, Any]]) -> Table:
    """A row for each set, a column for each cause."""
    shown = Table("set", "steps", "missed", *(cause.label for cause in Cause), box=None)
    for row in rows:
        counts = [row["steps"], row["missed"], *(row["by_cause"][cause]["steps"] for cause in Cause)]
        shown.add_row(row["bench"], *(f"{count:,}" if count else "–" for count in counts))
    return shown


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Metrics with their intervals, differences in points."""
    without = "" if rows[0]["expansions"] else " without expansions"
    shown = Table(title=f"{rows[0]['bench']}{without}, {rows[0]['tools']} tools", box=None, title_justify="left")
    for name in ("recipe", *(heading for metric in METRICS for heading in (metric, "95 %", "points"))):
        shown.add_column(name, justify="left" if name == "recipe" else "right")
    for row in rows:
        cells = []
        for metric in METRICS:
            low, high = row["intervals"][metric]
            apart = row["difference"][metric]
            points = f"{100 * apart['difference']:+.1f}"
            cells += [f"{row['metrics'][metric]:.3f}", f"{low:.3f}–{high:.3f}"]
            cells.append(f"[bold]{points}[/]" if apart["p"] < 0.05 else points)
        shown.add_row(row["recipe"], *cells)
    return shown


def main() -> None:
    """Measure each pair and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="SNAPSHOT=FOLDER")
    parser.add_argument("--blocks", nargs="+", choices=BLOCKS, default=list(BLOCKS))
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    pairs = [(Path(snapshot), Path(folder)) for snapshot, _, folder in (pair.partition("=") for pair in asked.pairs)]
    rows = []
    if asked.misses:
        rows = [misses(*pair) for pair in pairs]
        Console(width=150).print(table_of_misses(rows))
    else:
        for pair in pairs:
            rows += (found := measure(*pair, asked.blocks))
            Console(width=130).print(table(found))
    if asked.json:
        kept = [{key: value for key, value in row.items() if key != "latency_ms"} for row in rows]
        asked.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
