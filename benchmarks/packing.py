"""Compare ways to pack tools into a token budget: `python -m benchmarks.packing SNAPSHOT=BENCH… [--json FILE]`.

BENCH is a folder with judged requests (queries.jsonl or judgements.jsonl), SNAPSHOT the snapshot of its tools. Of each
request's fused list at most ten tools are packed into each budget, by each way: `full`, `short` and `signature` are
first fit in one detail; `shorten` begins with the least detail and says more in rank order, `…to signature` from a
signature on; `knapsack` is the best that any packing of full and short tools could do by a tool's rank. Figures: tools
handed over, the share of them in full, and the share of the required tools that are among them (Full recall).
"""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.measuring import about, on_one_thread, report
from router import Router
from router.answer.packing import PackedTools, pack
from router.evaluation import Judgement, K, judgements_of, read_judgements
from router.evaluation.metrics import full_recall
from router.provider_formats import Detail, Form
from router.snapshot.snapshot import Snapshot

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
Costs = NDArray[np.int32]
Pack = Callable[[Costs, int], PackedTools]


def knapsack(costs: Costs, budget: int, less: float = 0.1) -> PackedTools:
    """The packing of full and short tools with the greatest sum of 1 / log2(rank + 1), a short tool worth a tenth less.

    By dynamic programming over tools and tokens: best[n, b] is the value of at most n tools in at most b tokens.
    """
    rows = costs[: 4 * K, :2]
    best = np.zeros((K + 1, budget + 1))
    choice = np.full((len(rows), K + 1, budget + 1), -1, np.int8)
    for position, row in enumerate(rows.tolist()):
        before = best.copy()
        for column, cost in enumerate(row):
            if cost <= budget:
                offered = before[:-1, : budget + 1 - cost] + (1 - less * column) / math.log2(position + 2)
                better = offered > best[1:, cost:]
                best[1:, cost:][better] = offered[better]
                choice[position, 1:, cost:][better] = column
    taken: list[tuple[int, int]] = []
    places, left = K, budget
    for position in reversed(range(len(rows))):
        if (column := int(choice[position, places, left])) >= 0:
            taken.insert(0, (position, column))
            places, left = places - 1, left - int(rows[position, column])
    details = tuple(Detail)
    return PackedTools(tuple(p for p, _ in taken), tuple(details[c] for _, c in taken), budget - left, ())


def _one(detail: Detail) -> Pack:
    return lambda costs, budget: pack(costs, budget, K, [detail])


def _several(*details: Detail) -> Pack:
    return lambda costs, budget: pack(costs, budget, K, details)


PACKINGS: dict[str, Pack] = {
    "full": _one(Detail.FULL),
    "short": _one(Detail.SHORT),
    "signature": _one(Detail.SIGNATURE),
    "shorten": _several(Detail.FULL, Detail.SHORT),
    "shorten to signature": _several(*Detail),
    "knapsack": knapsack,
}


def measure(snapshot: Snapshot, judgements: Sequence[Judgement], form: Form) -> dict[str, Any]:
    """Figures by budget and packing, over the requests that have required tools."""
    router = Router(snapshot)
    tool_id = cache(router.tool_id)
    costs = snapshot.tokens.of(form, range(len(snapshot.records)))
    asked = [judgement for judgement in judgements if judgement.kind != "none" and judgement.steps]
    lists = [router.lists(judgement.request)[1].ordinals for judgement in asked]
    unbound = np.mean([full_recall([*map(tool_id, o[:K].tolist())], j) for o, j in zip(lists, asked, strict=True)])
    found: dict[str, Any] = {"no budget": {"full recall": float(unbound), "tools": K}}
    for budget in BUDGETS:
        for name, packing in PACKINGS.items():
            packed = [(packing(costs[ordinals], budget), ordinals, j) for ordinals, j in zip(lists, asked, strict=True)]
            ids = [([tool_id(int(o[position])) for position in p.positions], j) for p, o, j in packed]
            handed = sum(len(p.positions) for p, _, _ in packed)
            full = sum(p.details.count(Detail.FULL) for p, _, _ in packed)
            found[f"{budget:,} · {name}"] = {
                "tools": handed / len(asked),
                "in full": full / handed if handed else 0.0,
                "full recall": float(np.mean([full_recall(tools, j) for tools, j in ids])),
                "tokens": float(np.mean([p.tokens for p, _, _ in packed])),
            }
    return found


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="SNAPSHOT=BENCH")
    parser.add_argument("--form", type=Form, default=Form.OPENAI)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found, figures = about(), {}
    for pair in asked.pairs:
        folder, _, bench = pair.partition("=")
        file = judgements_of(Path(bench))
        if file is None:
            parser.error(f"{bench!r} has no queries.jsonl or judgements.jsonl: name SNAPSHOT=BENCH")
        snapshot = Snapshot.open(Path(folder))
        found[Path(bench).name] = {"snapshot": snapshot.manifest.snapshot, "tokens": snapshot.manifest.token_counter}
        figures[Path(bench).name] = measure(snapshot, read_judgements(file), asked.form)
    report("packing", found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
