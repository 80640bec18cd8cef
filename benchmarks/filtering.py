"""Measure what filtering gains: `python -m benchmarks.filtering [FOLDER] [--workspace DIR]`.

The experiment of "Advanced Tool Filtering for Tool Selection" (vLLM Semantic Router, #1002) on other data: FOLDER holds
tools.jsonl and queries.jsonl, some of which no tool serves; left out, it is benchmarks/data/filtering: thirty
tools, forty requests that one of them serves, and thirteen that none does. One tool an answer. Phrases are made by
the lexicon. No setting was fitted to these requests. By setting:

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

from benchmarks.support.measuring import DATA, about, on_one_thread, percentiles, report
from flows.cli.commands.benches import build_bench, read_bench
from pipeline.progress import SilentProgress
from router import DenseView, Fusion, Recipe, Router, Signal
from router.evaluation import Judgement
from router.selection import Selection, Weights

FILTERING = DATA / "filtering"
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
Setting = tuple[Recipe | None, Selection]
Ids = tuple[str, ...]
SETTINGS: Mapping[str, Setting] = {
    BASELINE: (EMBEDDINGS, PLAIN),
    "advanced": (EMBEDDINGS, ADVANCED),
    "default": (None, PLAIN),
    "default, advanced": (None, ADVANCED),
    "default, none fits": (None, Selection(empty_if_none_fits=True)),
}


def measure(router: Router, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """The figures of each setting, and what it changes of the baseline's."""
    tried = {score: (EMBEDDINGS, replace(ADVANCED, min_combined_score=score)) for score in HINDSIGHT}
    told = {score: ask(router, judgements, [setting])[0][0] for score, setting in tried.items()}
    best = max(told, key=lambda score: rates(judgements, told[score])["accuracy"])
    settings = {**SETTINGS, f"advanced, {best:g} by hindsight": tried[best]}
    ask(router, judgements[:10], [*settings.values()])  # warms up
    answers, taken = ask(router, judgements, [*settings.values()], ROUNDS)
    found = {
        name: rates(judgements, ids) | {f"{of} ms": percentiles(times)[of] for of in ("mean", "p95")}
        for name, ids, times in zip(settings, answers, taken, strict=True)
    }
    base = found[BASELINE]
    changes = {
        f"{name} − {BASELINE}": {leaf: row[leaf] - base[leaf] for leaf in row}
        for name, row in found.items()
        if name != BASELINE
    }
    return found | changes


def ask(
    router: Router, judgements: Sequence[Judgement], settings: Sequence[Setting], rounds: int = 1
) -> tuple[list[list[Ids]], list[list[float]]]:
    """By setting the answers, and how many seconds each took in each round. Settings take turns, request by request, so
    that a busy machine is busy for all."""
    answers: list[list[Ids]] = [[] for _ in settings]
    taken: list[list[float]] = [[] for _ in settings]
    for turn in range(rounds):
        for judgement in judgements:
            for place, (recipe, selection) in enumerate(settings):
                begun = time.perf_counter()
                ids = router.route(judgement.request, k=1, recipe=recipe, selection=selection).ids
                taken[place].append(time.perf_counter() - begun)
                if not turn:
                    answers[place].append(ids)
    return answers, taken


def rates(judgements: Sequence[Judgement], answers: Sequence[Ids]) -> dict[str, float]:
    """How often a setting's answers are right."""
    told = list(zip(judgements, answers, strict=True))
    served = [(judgement, ids) for judgement, ids in told if judgement.kind != "none"]
    strange = [ids for judgement, ids in told if judgement.kind == "none"]
    right = sum(not judgement.relevant.isdisjoint(ids) for judgement, ids in served)
    wrong = sum(judgement.relevant.isdisjoint(ids) for judgement, ids in served if ids)
    false = sum(bool(ids) for ids in strange)
    return {
        "accuracy": (right + len(strange) - false) / len(told),
        "precision": right / (right + false) if right + false else 0.0,
        "recall": right / len(served),
        "false positives": false / len(strange),
        "wrong": wrong / len(served),
    }


def main() -> None:
    """Build, measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=FILTERING)
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
        snapshot = build_bench(
            asked.folder, workspace, SilentProgress(), generator="lexicon", encoder="all-MiniLM-L6-v2"
        )
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
