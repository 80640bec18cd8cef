"""Time lexical indexes of one segment and of several: `python -m benchmarks.segments TOOLS.jsonl [--tools 100000]`.

TOOLS holds real tools; the documents are those of the catalog that large_catalogs makes of them. The same documents are
indexed with each number of tools a segment; a request searches the three lexical signals for 100 tools each.
`differing` is the share of lists that are not equal to those of the first number, to the last bit.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large_catalogs import real_tools, requests, tools
from benchmarks.support.measuring import about, percentiles, report
from pipeline.indexing.segments import assemble, write_segment
from pipeline.sources import RawTool
from router.contract import LEXICAL_SIGNALS
from router.expansion import Expansion
from router.record import Origin
from router.retrieval.retrievers import LexicalRetriever, Ranking
from router.text import terms
from router.tools.definitions.normalization import normalize
from router.tools.field_text import FieldDocuments, project_record

_DEPTH = 100
_ROUNDS = 3  # through all requests, the sizes in turn


def documents(real: Sequence[dict[str, Any]], count: int, seed: int) -> Iterator[FieldDocuments]:
    """Yield the field documents of a large catalog's tools."""
    for number, (row, written) in enumerate(tools(real, count, seed)):
        raw = RawTool(
            name=row["name"],
            origin=Origin("tools.jsonl", f"#{number}"),
            description=row["description"] or "",
            input_schema=row["parameters"] or {},
            id=row["id"],
            provider=row["provider"],
        )
        yield project_record(normalize(raw), Expansion.from_json(written))


def build(projected: Sequence[FieldDocuments], size: int, folder: Path) -> dict[str, float]:
    """Index the documents, `size` tools a segment; return what it took, the parts as if workers had written them."""
    begun, parts = time.perf_counter(), []
    for first in range(0, len(projected), size):
        parts.append(write_segment(projected[first : first + size], first, folder / "parts"))
    indexed = time.perf_counter()
    assemble(parts, folder / "index")
    return {
        "segments": len(parts),
        "index_s": round(indexed - begun, 2),
        "assemble_ms": round(1e3 * (time.perf_counter() - indexed), 2),
        "mb": round(sum(path.stat().st_size for path in (folder / "index").rglob("*.*")) / 1e6, 1),
    }


def search(retrievers: Sequence[LexicalRetriever], request: Sequence[str]) -> list[Ranking]:
    """Return the ranking of each signal."""
    return [retriever.rank_terms(request, _DEPTH) for retriever in retrievers]


def latencies(
    opened: Mapping[int, Sequence[LexicalRetriever]], asked: Sequence[Sequence[str]]
) -> dict[int, dict[str, float]]:
    """Return by tools a segment the milliseconds of a request, and the share of lists unlike those of the first."""
    taken: dict[int, list[float]] = {size: [] for size in opened}
    differing = dict.fromkeys(opened, 0)
    for request in [request for _ in range(_ROUNDS) for request in asked]:
        rankings = []
        for size, retrievers in opened.items():
            begun = time.perf_counter()
            rankings.append(search(retrievers, request))
            taken[size].append(time.perf_counter() - begun)
        for size, others in zip(opened, rankings, strict=True):
            differing[size] += sum(map(_differ, rankings[0], others))
    lists = len(LEXICAL_SIGNALS) * _ROUNDS * len(asked)
    return {size: {**percentiles(seconds), "differing": differing[size] / lists} for size, seconds in taken.items()}


def _differ(one: Ranking, other: Ranking) -> bool:
    return not (np.array_equal(one.ordinals, other.ordinals) and np.array_equal(one.scores, other.scores))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, metavar="TOOLS.jsonl")
    parser.add_argument("--tools", type=int, default=100_000)
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 2, 4, 16], help="numbers of segments to compare")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path)
    chosen = parser.parse_args()
    found = about()
    real = real_tools(chosen.real)
    projected = list(documents(real, chosen.tools, chosen.seed))
    asked = [terms(row["request"]) for row in requests(real, chosen.tools, chosen.seed, 300)]
    figures: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        opened = {}
        for size in (-(-chosen.tools // segments) for segments in chosen.segments):
            home = Path(folder) / str(size)
            figures[size] = build(projected, size, home)
            opened[size] = [LexicalRetriever.open(home / "index" / signal, chosen.tools) for signal in LEXICAL_SIGNALS]
        for size, taken in latencies(opened, asked).items():
            figures[size] |= taken
    by_segments = {f"{row['segments']} of {size:,} tools": row for size, row in figures.items()}
    report(f"{chosen.tools:,} tools", found, by_segments, chosen.json, chosen.against)


if __name__ == "__main__":
    main()
