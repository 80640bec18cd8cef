"""Measure what prerequisites gain: `python -m benchmarks.prerequisites SNAPSHOT=FOLDER… [--json FILE]`.

FOLDER holds judged requests and SNAPSHOT was built of it. Each row is a set: on how many tools the graph acts, and full
recall and nDCG of the snapshot's recipe without and with prerequisites. Differences are in points, with 95 % intervals;
bold where the paired randomisation test gives p < .05.

`--edges N` draws N edges of all sets by `--seed` instead, to be judged by hand: one JSON object a line, with what both
tools say.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.support.memoized_encoder import Remembering
from router import Router
from router.evaluation import Measurement, ask, compared, comparison_row, judgements_of, read_judgements
from router.record import ToolRecord
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.snapshot.snapshot import Snapshot
from router.tools.prerequisites import Prerequisite, find_prerequisites

METRICS = ("full@10", "ndcg@10")


def graph_of(snapshot: Snapshot) -> tuple[list[ToolRecord], tuple[Prerequisite, ...]]:
    """The records of a snapshot and their edges, found anew."""
    records = [snapshot.records.complete_record(ordinal) for ordinal in range(len(snapshot.records))]
    return records, find_prerequisites(records)


def measure(name: str, snapshot: Snapshot, folder: Path) -> dict[str, Any]:
    """One set without and with prerequisites."""
    records, edges = graph_of(snapshot)
    encoder = snapshot.encoder and Remembering(snapshot.encoder, {})
    router = Router(replace(snapshot, encoder=encoder, prerequisites=PrerequisiteGraph.of(records, edges)))
    file = judgements_of(folder)
    assert file, f"{folder} holds no judged requests"
    judgements = [judgement for judgement in read_judgements(file) if judgement.kind != "none"]

    def asked(prerequisites: bool) -> Measurement:
        return ask(router, judgements, replace(snapshot.recipe, prerequisites=prerequisites), whole=False)

    without, with_them = asked(False), asked(True)
    difference = compared(with_them, without)
    return {
        "bench": name,
        "tools": len(records),
        "needing": len({edge.tool_id for edge in edges}),
        "edges": len(edges),
        "without": _metrics(without),
        "with": _metrics(with_them),
        "difference": {metric: d.to_json() for metric in METRICS if (d := difference[metric])},
    }


def _metrics(measured: Measurement) -> dict[str, float]:
    metrics = comparison_row(measured)["metrics"]
    return {metric: metrics[metric] for metric in METRICS}


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Sets with the tools that the graph acts on, metrics and differences."""
    shown = Table(box=None)
    for heading in ("set", "tools", "need one", *(h for metric in METRICS for h in (metric, "with", "points"))):
        shown.add_column(heading, justify="left" if heading == "set" else "right")
    for row in rows:
        cells = [row["bench"], f"{row['tools']:,}", f"{row['needing']:,}"]
        for metric in METRICS:
            d = row["difference"][metric]
            low, high = d["interval"] or (d["difference"], d["difference"])
            points = f"{100 * d['difference']:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            cells += [f"{row['without'][metric]:.3f}", f"{row['with'][metric]:.3f}"]
            cells.append(f"[bold]{points}[/]" if d["p"] < 0.05 else points)
        shown.add_row(*cells)
    return shown


def drawn_edges(snapshots: Sequence[Snapshot], count: int, seed: int) -> list[dict[str, Any]]:
    """Edges of some snapshots, as many of each where it has so many, with what both tools say."""
    random_choice = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for place, snapshot in enumerate(snapshots):
        records, edges = graph_of(snapshot)
        by_id = {record.tool_id: record for record in records}
        left = (count - len(rows)) // (len(snapshots) - place)
        for edge in random_choice.sample(edges, min(left, len(edges))):
            said = {role: _said(by_id[tool_id]) for role, tool_id in (("needs", edge.tool_id), ("finds", edge.needed))}
            rows.append({**asdict(edge), **said})
    return rows


def _said(record: ToolRecord) -> dict[str, Any]:
    parameters = {p.path: f"{'required ' if p.required else ''}{p.description[:100]}" for p in record.parameters[:12]}
    return {"name": record.name, "description": record.description[:300], "parameters": parameters}


def main() -> None:
    """Measure each pair and print the table, or draw edges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="SNAPSHOT=FOLDER")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--edges", type=int)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    pairs = [(Path(snapshot), Path(folder)) for snapshot, _, folder in (pair.partition("=") for pair in asked.pairs)]
    if asked.edges:
        rows = drawn_edges([Snapshot.open(snapshot) for snapshot, _ in pairs], asked.edges, asked.seed)
        print("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
        return
    rows = []
    for snapshot, folder in pairs:
        opened = Snapshot.open(snapshot)
        bare = "" if opened.manifest.generators else ", without expansions"
        rows.append(measure(folder.resolve().name + bare, opened, folder))
    Console(width=150).print(table(rows))
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
