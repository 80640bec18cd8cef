"""Measure what a partly enriched catalog costs: `python -m benchmarks.partial_enrichment FOLDER [--json FILE]`.

FOLDER holds tools.jsonl, expansions.jsonl and queries.jsonl. A seeded random share of the expansions is kept, the
catalog is built for real, and each request is routed twice: as the router does, and as if it did not know which tools
have an expansion (the dense list's part of it cannot be turned off). Means over the seeds.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pipeline.build import build
from pipeline.settings import load
from router import Router
from router.evaluation import Judgement, K, evaluate, judgements_of, read_judgements
from router.snapshot.snapshot import Snapshot

SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
METRICS = ("full@10", "ndcg@10")
Pair = tuple[Sequence[str], Judgement]


def main() -> None:
    """Measure a folder and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rest", choices=("none", "lexicon"), default="none", help="what the other tools get")
    parser.add_argument("--recipe", action="append", help="default and published, where none is named")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = list(
        measure(arguments.folder, arguments.rest, arguments.recipe or ["default", "published"], arguments.seeds)
    )
    result = {"bench": arguments.folder.name, "rest": arguments.rest, "seeds": arguments.seeds, "rows": rows}
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    Console(width=120).print(table(result))


def measure(folder: Path, rest: str, recipes: Sequence[str], seeds: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each share and recipe: metrics of all requests, and of those with all or no tools expanded."""
    path = judgements_of(folder)
    assert path, f"{folder} holds no judged requests"
    judgements = [judgement for judgement in read_judgements(path) if judgement.kind != "none"]
    lines = [line for line in (folder / "expansions.jsonl").read_text(encoding="utf-8").split("\n") if line.strip()]
    with tempfile.TemporaryDirectory() as scratch:
        for share in SHARES:
            opened = []
            for seed in range(seeds if 0 < share < 1 else 1):
                kept = random.Random(seed).sample(lines, round(share * len(lines)))
                opened.append((_snapshot(folder, Path(scratch), kept, rest), {json.loads(line)["id"] for line in kept}))
            for recipe in recipes:
                routes: dict[bool, list[Any]] = {True: [], False: []}
                for snapshot, expanded in opened:
                    for aware in routes:
                        router = Router(snapshot if aware else replace(snapshot, expanded=None))
                        pairs = [(router.route(j.request, k=K, recipe=recipe).ids, j) for j in judgements]
                        routes[aware].append(_split(pairs, expanded))
                yield {
                    "share": share,
                    "recipe": recipe,
                    **{name: _mean(runs) for name, runs in (("aware", routes[True]), ("unaware", routes[False]))},
                }


def _snapshot(folder: Path, scratch: Path, expansions: Sequence[str], rest: str) -> Snapshot:
    catalog = scratch / folder.name
    catalog.mkdir(exist_ok=True)
    (catalog / "tools.jsonl").write_bytes((folder / "tools.jsonl").read_bytes())
    (catalog / "expansions.jsonl").write_text("".join(f"{line}\n" for line in expansions), encoding="utf-8")
    settings = load(catalog, {"enrichment": {"generator": rest}}, environment={})
    return Snapshot.open(build(settings, workspace=scratch / "workspace").snapshot, check=False)


def _split(pairs: Sequence[Pair], expanded: set[str]) -> dict[str, dict[str, float | None]]:
    groups = {
        "all": pairs,
        "expanded": [pair for pair in pairs if pair[1].required <= expanded],
        "not expanded": [pair for pair in pairs if not pair[1].required & expanded],
    }
    return {name: {m: v for m, v in evaluate(chosen).items() if m in METRICS} for name, chosen in groups.items()}


def _mean(runs: Sequence[dict[str, dict[str, float | None]]]) -> dict[str, dict[str, float | None]]:
    def mean(values: list[float]) -> float | None:
        return round(sum(values) / len(values), 4) if values else None

    return {g: {m: mean([v for r in runs if (v := r[g][m]) is not None]) for m in METRICS} for g in runs[0]}


def table(result: dict[str, Any]) -> Table:
    """Return the metrics by share and recipe: of all requests, and by whether their tools are expanded."""
    title = f"{result['bench']}, the rest: {result['rest']}; full@10 / ndcg@10, unaware → aware"
    drawn = Table("share", "recipe", box=None, title=title)
    for group in ("all", "expanded", "not expanded"):
        drawn.add_column(group, no_wrap=True)
    for row in result["rows"]:
        cells = []
        for group in ("all", "expanded", "not expanded"):
            before, after = (
                " / ".join("–" if v is None else f"{v:.3f}" for v in row[name][group].values())
                for name in ("unaware", "aware")
            )
            cells.append(before if before == after else f"{before} → {after}")
        drawn.add_row(f"{row['share']:.0%}", row["recipe"], *cells)
    return drawn


if __name__ == "__main__":
    main()
