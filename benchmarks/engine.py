"""Measure LanceDB behind the dense list: `python -m benchmarks.engine SNAPSHOT --vectors FOLDER --requests FILE`.

The snapshot has its candidates in faiss. A table of the same centroids is written into `--table`, as a build with
`engine = "lancedb"` does, unless it is there. Then each engine ranks the same requests in a process of its own: recall
of the exact first fifty by every vector in fp32 (as recall.py counts it), with filters that admit ever fewer tools;
milliseconds by the wall's clock and of the process; memory and disk. FOLDER is what large_snapshots leaves.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall import AT
from benchmarks.support.measuring import about, on_one_thread, percentiles, report, seconds
from benchmarks.support.reference_vectors import ReferenceVectors
from benchmarks.support.timed_requests import read_requests
from pipeline.indexing.lance_table import write_table
from pipeline.indexing.moments import MomentsAccumulator, centroids
from router import DenseView, Router, contract
from router.retrieval.retrievers import (
    VIEWS,
    Admitted,
    CandidateIndex,
    Candidates,
    CatalogMoments,
    DenseRetriever,
    LanceCandidates,
    ToolVectors,
)
from router.search import search
from router.snapshot.snapshot import Snapshot

ENGINES = ("faiss", "lancedb")
ADMITTED = {"all tools": 1.0, "10 % admitted": 0.1, "1 % admitted": 0.01, ".01 % admitted": 0.0001}
_EQUAL = 1e-5  # as in recall.py
_BLOCK = 8_192


def write(snapshot: Path, table: Path) -> dict[str, float]:
    """Write the table of a snapshot's centroids; seconds, and the most memory that it took."""
    vectors = ToolVectors.open(snapshot)
    lift = MomentsAccumulator.of(vectors).lift
    table.mkdir(parents=True)
    path = table / "centroids.npy"
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (len(vectors), vectors.dim))
    for first in range(0, len(vectors), _BLOCK):
        last = min(first + _BLOCK, len(vectors))
        stored[first:last] = centroids(vectors, first, last, lift)[DenseView.MEAN]
    wall, cpu = time.perf_counter(), time.process_time()
    write_table(stored, table)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    path.unlink()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(wall, 1), "cpu seconds": round(cpu, 1), "peak resident MB": round(most)}


def rank(engine: str, snapshot: Path, table: Path) -> dict[str, Any]:
    """Rank the requests of `table` by an engine: their lists are left there, the rest is returned."""
    requests, view = np.load(table / "requests.npy"), DenseView((table / "view").read_text())
    vectors = ToolVectors.open(snapshot)
    before = _memory()
    begun = time.perf_counter()
    candidates = _candidates(engine, snapshot, table, len(vectors), vectors.dim)
    opened = time.perf_counter() - begun
    retriever = DenseRetriever(
        vectors, candidates, CatalogMoments.open(snapshot / contract.MOMENTS, len(VIEWS), vectors.dim)
    )
    figures: dict[str, Any] = {"seconds to open": round(opened, 3)}
    for name, share in ADMITTED.items():
        admitted = None if share == 1 else Admitted(mask(len(vectors), share))
        lists = [retriever.rank_vector(r, AT, view, admitted).ordinals for r in requests]
        np.save(table / f"{engine} {name}.npy", np.array([_padded(ordinals) for ordinals in lists]))

        def ask(request: NDArray[np.float32], admitted: Admitted | None = admitted) -> object:
            return retriever.rank_vector(request, AT, view, admitted)

        figures[name] = {
            "wall ms": percentiles(seconds(ask, requests)),
            "cpu ms": percentiles(seconds(ask, requests, time.process_time)),
        }
        if share == 1:
            figures["candidates, wall ms"] = percentiles(
                seconds(lambda request: candidates.nearest(request, retriever._count), requests)
            )
            after = _memory()
            figures["memory MB"] = {kind: round(after[kind] - before[kind], 1) for kind in after}
    return figures


def _candidates(engine: str, snapshot: Path, table: Path, tools: int, dim: int) -> Candidates:
    if engine == "faiss":
        return CandidateIndex.open(snapshot / contract.CANDIDATES, tools, dim)
    return LanceCandidates.open(table, _files(table), tools, dim)


def _files(table: Path) -> list[str]:
    paths = (table / contract.CANDIDATE_TABLE).rglob("*")
    return [path.relative_to(table).as_posix() for path in paths if path.is_file()]


def _padded(ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.pad(ordinals, (0, AT - len(ordinals)), constant_values=-1)


def mask(tools: int, share: float) -> NDArray[np.bool_]:
    """The tools that a filter admits: drawn, and the same for every engine."""
    drawn: NDArray[np.bool_] = np.random.default_rng(3).random(tools) < share
    return drawn


def _memory() -> dict[str, float]:
    """Resident megabytes of this process: `private` it alone holds, `mapped` are pages of files that may go."""
    rows = Path("/proc/self/status").read_text().splitlines()
    held = {row.split(":")[0]: int(row.split()[1]) / 1024 for row in rows if row.startswith("Rss")}
    return {"private": held["RssAnon"], "mapped": held["RssFile"]}


def recalls(exact: NDArray[np.float32], lists: NDArray[np.int64], admitted: NDArray[np.bool_]) -> list[float]:
    """The share of the exact first fifty of the admitted tools among each list; `exact` is (tools, requests)."""
    found = []
    ordinals = np.flatnonzero(admitted)
    for scores, listed in zip(exact.T, lists, strict=True):
        at = min(AT, len(ordinals))
        if at == 0:
            continue
        fiftieth = np.partition(scores[ordinals], len(ordinals) - at)[len(ordinals) - at]
        found.append(float(np.count_nonzero(scores[listed[listed >= 0]] >= fiftieth - _EQUAL)) / at)
    return found


def measure(snapshot: Path, vectors: Path, requests: list[str], table: Path) -> dict[str, Any]:
    """All figures, by engine; see the module."""
    figures: dict[str, Any] = {"build of the table": _built(snapshot, table)}
    opened = Snapshot.open(snapshot, check=False)
    recipe = Router(opened).recipe(None)
    encoded = [search.encode(opened, [request], recipe)[0].adapted_vector for request in requests]
    moved = np.stack([vector for vector in encoded if vector is not None])
    np.save(table / "requests.npy", moved)
    (table / "view").write_text(recipe.dense_view)
    del opened
    by_engine = {engine: _in_a_process("rank", engine, snapshot, table) for engine in ENGINES}
    exact = ReferenceVectors.open(vectors).scores(moved, recipe.dense_view)
    for engine, found in by_engine.items():
        for name, share in ADMITTED.items():
            lists = np.load(table / f"{engine} {name}.npy")
            shares = sorted(recalls(exact, lists, mask(len(exact), share)))
            found[name][f"recall@{AT}"] = {"mean": float(np.mean(shares)), "least": shares[0]}
        found["disk MB"] = round(_disk(engine, snapshot, table) / 1e6, 1)
    ours, theirs = (np.load(table / f"{engine} all tools.npy") for engine in ENGINES)
    same = [np.isin(one, other).mean() for one, other in zip(ours, theirs, strict=True)]
    return {**figures, **by_engine, "lists in common": {"mean": float(np.mean(same)), "requests": len(same)}}


def _built(snapshot: Path, table: Path) -> Mapping[str, float]:
    told = table / "build.json"
    if not told.exists():
        told.write_text(json.dumps(_in_a_process("write", "lancedb", snapshot, table)))
    figures: dict[str, float] = json.loads(told.read_text())
    return figures


def _disk(engine: str, snapshot: Path, table: Path) -> int:
    """Bytes of an engine's own files; the vectors, which both read, are not among them."""
    if engine == "faiss":
        return (snapshot / contract.CANDIDATES).stat().st_size
    return sum((table / name).stat().st_size for name in _files(table))


def _in_a_process(step: str, engine: str, snapshot: Path, table: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.engine", str(snapshot), "--table", str(table), "--step", step, engine]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--vectors", type=Path, help="a folder of fp32 vectors")
    parser.add_argument("--requests", type=Path, help="JSONL of large_catalogs")
    parser.add_argument("--most", type=int, default=60, help="requests to ask")
    parser.add_argument("--table", type=Path, required=True, help="a folder for the table, which is kept")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    snapshot = asked.snapshot.resolve()
    if asked.step:
        step, engine = asked.step
        print(json.dumps(write(snapshot, asked.table) if step == "write" else rank(engine, snapshot, asked.table)))
        return
    if asked.vectors is None or asked.requests is None:
        parser.error("--vectors and --requests are needed")
    figures = measure(snapshot, asked.vectors, read_requests(asked.requests, asked.most), asked.table)
    report("engines behind the dense list", about(snapshot), figures, asked.json, None)


if __name__ == "__main__":
    main()
