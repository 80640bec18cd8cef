"""Time other tool routers on the same catalog, as ratios in one run:
`python -m benchmarks.peers TOOLS.jsonl --requests FILE --snapshot FOLDER… [--peer NAME…]`.

A SNAPSHOT of N tools is of tools of that file, and each peer is given those tools. Every one answers the same requests
in a process of its own, one after the other, on one thread, with its defaults; k = 10. Dense and hybrid peers encode
requests with all-MiniLM-L6-v2. Where a peer takes an embedder, the vectors of documents are stand-ins, drawn at random:
latency does not depend on them, and hours of encoding are spared. Ours are the default recipe and `lexical`, explained.

A peer that is not installed is left out, with a line that says so: pip install toolpicker ratel-ai bm25s PyStemmer.
How well they find tools: `python -m benchmarks.peer_quality`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import Clock, about, on_one_thread, percentiles, report, seconds
from benchmarks.support.peer_rankings import definition
from benchmarks.support.peers.definitions import Answer, K
from benchmarks.support.peers.embedder import StandIns
from benchmarks.support.peers.registry import PEERS as ALL_PEERS
from benchmarks.support.timed_requests import read_requests
from router import Router

OURS = {"default": None, "lexical": "lexical"}
PEERS = {name: peer for name, peer in ALL_PEERS.items() if peer.timed}
LONGEST_S = 30.0  # a slow peer answers as many requests as it can in this time
WARM_UP = 5


def tools_of(snapshot: Path, real: Path) -> list[dict[str, Any]]:
    """The lines of TOOLS that a snapshot holds, and for the others its own records in that form."""
    router = Router.open(snapshot)
    lines = {row["id"]: row for row in map(json.loads, real.read_text(encoding="utf-8").splitlines())}
    found = []
    for ordinal in range(len(router)):
        tool_id = router.tool_id(ordinal)
        if row := lines.get(tool_id):
            found.append(row)
        elif record := router.record(tool_id):
            found.append(definition(record))
    return found


def ask(name: str, snapshot: Path, real: Path, requests: Sequence[str], clock: Clock) -> dict[str, float]:
    """Latency of one of them, in this process: milliseconds, and how long it took to build."""
    answer: Answer
    begun = time.perf_counter()
    if name in OURS:
        answer = _ours(Router.open(snapshot), OURS[name])
    else:
        peer = PEERS[name]
        answer = peer.make(tools_of(snapshot, real), StandIns() if peer.embeds else None)
    built = time.perf_counter() - begun
    for request in requests[-WARM_UP:]:
        answer(request)
    taken: list[float] = []
    deadline = time.perf_counter() + LONGEST_S
    for request in requests:
        taken += seconds(answer, [request], clock)
        if time.perf_counter() > deadline:
            break
    return {**percentiles(taken), "requests": len(taken), "built_s": round(built, 1)}


def _ours(router: Router, recipe: str | None) -> Answer:
    return lambda request: router.route(request, k=K, explain=True, recipe=recipe).ids


def measure(
    snapshots: Sequence[Path], real: Path, names: Sequence[str], arguments: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """By number of tools and by router; `slower` is a peer's mean over ours of its kind.

    `arguments` are those of the command that each process takes over.
    """
    figures: dict[str, dict[str, Any]] = {}
    for snapshot in snapshots:
        count = len(Router.open(snapshot))
        rows: dict[str, dict[str, float]] = {}
        for name in (*OURS, *names):
            if name in PEERS and count > PEERS[name].most_tools:
                print(f"{name} is left out at {count:,} tools: it would encode them for hours", file=sys.stderr)
            elif row := _in_a_process(name, snapshot, real, arguments):
                rows[name] = row
        for name, row in rows.items():
            if name in PEERS and (ours := rows.get("lexical" if PEERS[name].lexical else "default")):
                row["slower"] = row["mean"] / ours["mean"]
                row["slower_p50"] = row["p50"] / ours["p50"]
        figures[f"{count} tools"] = rows
    return figures


def _in_a_process(name: str, snapshot: Path, real: Path, arguments: Sequence[str]) -> dict[str, float] | None:
    command = [sys.executable, "-m", "benchmarks.peers", str(real), "--snapshot", str(snapshot), "--only", name]
    command += arguments
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no word"])[-1]
        print(f"{name} is left out: {why}", file=sys.stderr)
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, metavar="TOOLS.jsonl")
    parser.add_argument("--requests", type=Path, required=True, help="JSONL of large_catalogs")
    parser.add_argument("--snapshot", type=Path, action="append", required=True)
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="all of them, if none is named")
    parser.add_argument("--most", type=int, default=200, help="requests to ask")
    parser.add_argument("--cpu", action="store_true", help="CPU time, where others use the machine too")
    parser.add_argument("--only", help=argparse.SUPPRESS)  # of the process that asks one of them
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    if asked.only:
        clock = time.process_time if asked.cpu else time.perf_counter
        requests = read_requests(asked.requests, asked.most)
        print(json.dumps(ask(asked.only, asked.snapshot[0], asked.real, requests, clock)))
        return
    found = about(asked.snapshot[-1])
    arguments = ["--requests", str(asked.requests), "--most", str(asked.most), *(["--cpu"] if asked.cpu else [])]
    figures = measure(asked.snapshot, asked.real, asked.peer or list(PEERS), arguments)
    report(f"ms {'of CPU ' if asked.cpu else ''}a request, one thread", found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
