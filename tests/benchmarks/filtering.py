"""What filtering is worth: `python -m tests.benchmarks.filtering [FOLDER] [--workspace DIR]`.

The experiment of "Advanced Tool Filtering for Tool Selection" (vLLM Semantic Router, #1002) on other data: FOLDER holds
tools.jsonl and queries.jsonl, some of which no tool serves; left out, it is tests/data/filtering: thirty tools, forty
requests that one of them serves, and thirteen that none does. One tool an answer. Phrases are made by the lexicon. No
setting was fitted to these requests. By setting:

    embeddings            cosine to each tool's vector: the baseline
    advanced              the same, filtered and ordered as there: min_lexical_overlap = 1, min_combined_score = .35,
                          weights embed .7, lexical .2, tag .05, name .05
    advanced, hindsight   the same with the min_combined_score that gives the best accuracy on these very requests
    default               the default recipe
    default, advanced     the default recipe, filtered and ordered so
    default, none fits    the default recipe, and no tool where the snapshot's calibration says that none fits

A request that a tool serves is right (TP) where that tool is the answer, one that none serves (TN) where nothing is.
Accuracy is (TP + TN) / requests, recall TP / requests that a tool serves, precision TP / (TP + FP), with FP the
requests that none serves and that got a tool; false positives are FP / requests that none serves. `wrong` is the share
of the requests that a tool serves which got another one: they count in no precision. Latency is that of the whole
route, with the request's encoding.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flows.commands.judged import build_bench, read_bench
from pipeline.progress import Silent
from router import DenseView, Fusion, Recipe, Router, Signal
from router.evaluation import Judgement
from router.selection import Selection, Weights
from tests.benchmarks.measuring import about, on_one_thread, percentiles, report

DATA = Path(__file__).parent.parent / "data" / "filtering"
ROUNDS = 10
HINDSIGHT = [round(0.05 * step, 2) for step in range(12)]
EMBEDDINGS = Recipe("embeddings", Fusion.CONVEX, {Signal.DENSE: 1.0}, dense_view=DenseView.DOCUMENT)
PLAIN = Selection()
# The weights and the threshold of the experiment that is repeated.
ADVANCED = Selection(
    min_lexical_overlap=1,
    min_combined_score=0.35,
    weights=Weights(embed=0.7, lexical=0.2, tag=0.05, name=0.05),
)
BASELINE = "embeddings"
SETTINGS: Mapping[str, tuple[Recipe | None, Selection]] = {
    BASELINE: (EMBEDDINGS, PLAIN),
    "advanced": (EMBEDDINGS, ADVANCED),
    "default": (None, PLAIN),
    "default, advanced": (None, ADVANCED),
    "default, none fits": (None, Selection(empty_if_none_fits=True)),
}


def measure(router: Router, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """The figures of each setting, and what it changes of the baseline's."""
    tried = (replace(ADVANCED, min_combined_score=score) for score in HINDSIGHT)
    best = max(tried, key=lambda selection: figures(router, judgements, EMBEDDINGS, selection, rounds=1)["accuracy"])
    settings = {**SETTINGS, f"advanced, {best.min_combined_score:g} by hindsight": (EMBEDDINGS, best)}
    found = {name: figures(router, judgements, *setting) for name, setting in settings.items()}
    base = found[BASELINE]
    changes = {
        f"{name} − {BASELINE}": {leaf: row[leaf] - base[leaf] for leaf in row}
        for name, row in found.items()
        if name != BASELINE
    }
    return found | changes


def figures(
    router: Router, judgements: Sequence[Judgement], recipe: Recipe | None, selection: Selection, rounds: int = ROUNDS
) -> dict[str, float]:
    """How often a setting is right, and how long it takes."""
    answers, taken = [], []
    for turn in range(rounds):
        for judgement in judgements:
            begun = time.perf_counter()
            routed = router.route(judgement.request, k=1, recipe=recipe, selection=selection)
            taken.append(time.perf_counter() - begun)
            if not turn:
                answers.append(routed.ids)
    told = list(zip(judgements, answers, strict=True))
    served = [(judgement, ids) for judgement, ids in told if judgement.kind != "none"]
    strange = [ids for judgement, ids in told if judgement.kind == "none"]
    right = sum(not judgement.relevant.isdisjoint(ids) for judgement, ids in served)
    wrong = sum(judgement.relevant.isdisjoint(ids) for judgement, ids in served if ids)
    false = sum(bool(ids) for ids in strange)
    latency = percentiles(taken)
    return {
        "accuracy": (right + len(strange) - false) / len(told),
        "precision": right / (right + false) if right + false else 0.0,
        "recall": right / len(served),
        "false positives": false / len(strange),
        "wrong": wrong / len(served),
        "mean ms": latency["mean"],
        "p95 ms": latency["p95"],
    }


def main() -> None:
    """Build, measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=DATA)
    parser.add_argument("--workspace", type=Path, help="keeps the build; else a temporary folder")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    judgements = read_bench(asked.folder).judgements
    strange = sum(judgement.kind == "none" for judgement in judgements)
    assert 0 < strange < len(judgements), (
        f"{asked.folder} needs requests that some tool serves, and such that none does"
    )
    with TemporaryDirectory() as temporary:
        workspace = asked.workspace or Path(temporary)
        snapshot = build_bench(asked.folder, workspace, Silent(), generator="lexicon", encoder="all-MiniLM-L6-v2")
        found = about(snapshot)
        with Router.open(snapshot) as router:
            measured = measure(router, judgements)
    report(
        f"{len(judgements) - strange} requests that a tool serves, {strange} that none does",
        found,
        measured,
        asked.json,
        asked.against,
    )


if __name__ == "__main__":
    main()
