"""Measure what a partly enriched catalog costs: `python -m benchmarks.partial_enrichment FOLDER [--json FILE]`.

FOLDER holds tools.jsonl, expansions.jsonl and queries.jsonl. A seeded random share of the expansions is kept, the
catalog is built for real, and each request is routed twice: as the router does ("aware"), and as if it did not know
which tools have an expansion (the dense list's part of it cannot be turned off). Means over the seeds, of all requests,
of those whose tools are all expanded, and of those of which none is.
"""

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.support.measuring import about, arguments, report
from pipeline.build import build
from pipeline.settings import load
from quartermaster.evaluation import Judgement, K, evaluate, judgements_of, read_judgements
from router import Router
from router.snapshot.snapshot import Snapshot

SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
METRICS = ("full@10", "ndcg@10")


def measure(folder: Path, recipes: Sequence[str], seeds: int) -> dict[str, Any]:
    """Metrics by share, recipe, group of requests, and whether the router knows what is expanded."""
    path = judgements_of(folder)
    assert path, f"{folder} holds no judged requests"
    judgements = [judgement for judgement in read_judgements(path) if judgement.kind != "none"]
    lines = [line for line in (folder / "expansions.jsonl").read_text(encoding="utf-8").split("\n") if line.strip()]
    found: defaultdict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for share in SHARES:
            for seed in range(seeds if 0 < share < 1 else 1):
                kept = random.Random(seed).sample(lines, round(share * len(lines)))
                snapshot = _snapshot(folder, Path(scratch), kept)
                expanded = {json.loads(line)["id"] for line in kept}
                for recipe in recipes:
                    for knows, opened in (("aware", snapshot), ("unaware", replace(snapshot, expanded=None))):
                        for group, metric, value in _routed(Router(opened), recipe, judgements, expanded):
                            found[f"{share:.0%}, {recipe}, {group}/{metric}, {knows}"].append(value)
    figures: dict[str, Any] = {}
    for name, values in found.items():
        row, _, column = name.partition("/")
        figures.setdefault(row, {})[column] = round(fmean(values), 4)
    return figures


def _routed(
    router: Router, recipe: str, judgements: Sequence[Judgement], expanded: set[str]
) -> Iterator[tuple[str, str, float]]:
    by = router.recipe(recipe)
    pairs = [(router.route(judgement.request, k=K, recipe=by).ids, judgement) for judgement in judgements]
    groups = {
        "all": pairs,
        "expanded": [pair for pair in pairs if pair[1].required <= expanded],
        "not expanded": [pair for pair in pairs if not pair[1].required & expanded],
    }
    for group, chosen in groups.items():
        for metric, value in evaluate(chosen).items():
            if metric in METRICS and value is not None:
                yield group, metric, value


def _snapshot(folder: Path, scratch: Path, expansions: Sequence[str]) -> Snapshot:
    catalog = scratch / folder.name
    catalog.mkdir(exist_ok=True)
    (catalog / "tools.jsonl").write_bytes((folder / "tools.jsonl").read_bytes())
    (catalog / "expansions.jsonl").write_text("".join(f"{line}\n" for line in expansions), encoding="utf-8")
    settings = load(catalog, {"enrichment": {"generator": "none"}}, environment={})
    return Snapshot.open(build(settings, workspace=scratch / "workspace").snapshot, check=False)


def main() -> None:
    """Measure a folder, print, write."""
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recipe", action="append", help="default and published, where none is named")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    found = about()
    figures = measure(asked.folder, asked.recipe or ["default", "published"], asked.seeds)
    report(asked.folder.name, found, figures, asked.json, None)


if __name__ == "__main__":
    main()
