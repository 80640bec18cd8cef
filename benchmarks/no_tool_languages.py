"""How well it is told in other languages that no tool fits, and the priors of it:
`python -m benchmarks.no_tool_languages [CODE …] [--json FILE]`.

The catalogs are those of `benchmarks.languages`. The priors for other languages are fitted on all, and printed. Each
row is measured by priors fitted without its language: "generic" as in a catalog that has nothing to calibrate on,
"judged" by five folds of the language's own judged requests. "Refused" are shares of the answerable requests, of talk,
and of requests judged to have no tool. The AUCs are of `fits`: answerable requests against talk, against those judged
to have no tool, and against themselves without their tools.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.languages import FOLDER, LANGUAGES, catalog
from benchmarks.no_tool import RIDGE, Cues, Folder, Rows, verdict_of
from benchmarks.support import logistic
from benchmarks.support.measuring import about
from pipeline.build import build
from pipeline.learning.no_answer_calibration.background import talk
from pipeline.learning.no_answer_calibration.batch_ranking import RankedQuery
from pipeline.learning.no_answer_calibration.examples import without_acceptable
from pipeline.learning.no_answer_calibration.fitting import ABSENT_SHARE, calibrate
from pipeline.learning.no_answer_calibration.prior import PRIORS_OF_OTHERS, CueScale, Prior, cue_table
from quartermaster.evaluation import read_judgements
from quartermaster.evaluation.abstention import auc
from router.retrieval.no_answer_calibration import BASE_RATE, BEST_BM25, of_language
from router.snapshot.snapshot import Snapshot
from router.tools.foreign_text import request_language

SHARES = {"own": BASE_RATE, "talk": (1 - BASE_RATE) * (1 - ABSENT_SHARE), "absent": (1 - BASE_RATE) * ABSENT_SHARE}
FOLDS = 5


class Language(Folder):
    """A language's tools over the demo's, with its requests: own, absent, talk, none."""

    @cached_property
    def texts(self) -> Mapping[str, Sequence[str]]:
        own, none = ([j.request for j in self.judgements if (j.kind == "none") is is_none] for is_none in (False, True))
        return {"own": own, "absent": own, "talk": talk()[self.name], "none": none}

    @cached_property
    def answers(self) -> Mapping[str, Sequence[RankedQuery]]:
        ranked = {sort: self.ranker.rank(self.texts[sort]) for sort in ("own", "talk", "none")}
        own = zip((j for j in self.judgements if j.kind != "none"), ranked["own"], strict=True)
        return ranked | {"absent": [without_acceptable(self.ranker, *pair) for pair in own]}

    def table(self, sort: str, cues: Cues) -> Rows:
        scores, everyday = self.surveyed
        scale = CueScale.of(cue_table(scores, everyday, cues), np.array([cue == BEST_BM25 for cue in cues]))
        return scale.standardise(cue_table(scores, self.answers[sort], cues))

    def measure(self, priors: Sequence[Prior]) -> Iterator[dict[str, Any]]:
        """A row for a catalog that judges nothing, and for one that judges these requests."""
        own = [j for j in self.judgements if j.kind != "none"]
        for name, folds in (("generic", 1), ("judged", FOLDS)):
            fits: dict[str, list[float]] = {sort: [] for sort in self.texts}
            refused: dict[str, list[bool]] = {sort: [] for sort in self.texts}
            for fold in range(folds):
                judged = [one for place, one in enumerate(own) if place % folds != fold]
                made = calibrate(self.snapshot, judged, priors_of_others=priors)
                for sort, texts in self.texts.items():
                    for text, asked in list(zip(texts, self.answers[sort], strict=True))[fold::folds]:
                        rule = of_language(made.calibrations, request_language(text))[0]
                        verdict = verdict_of(self, made.background, rule, asked)
                        fits[sort].append(verdict.fits)
                        refused[sort].append(verdict.none_fits)
            row: dict[str, Any] = {"language": self.name, "by": name}
            row |= {f"refused: {sort}": float(np.mean(refused[sort])) for sort in ("own", "talk", "none")}
            yield row | {f"AUC: {sort}": _auc(fits["own"], fits[sort]) for sort in ("talk", "none", "absent")}


def _auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    return auc(np.array([*right, *wrong]), np.arange(len(right) + len(wrong)) < len(right))


def fit(folders: Sequence[Folder], prior: Prior) -> Prior:
    """Return a prior of the same cues, fitted on some languages, each of the same weight."""
    parts = [
        (folder.table(sort, prior.cues), share, sort == "own") for folder in folders for sort, share in SHARES.items()
    ]
    rows = np.concatenate([part for part, _, _ in parts])
    weights = np.concatenate([np.full(len(part), share / len(part)) for part, share, _ in parts]) / len(folders)
    fitting = np.concatenate([np.full(len(part), float(fits)) for part, _, fits in parts])
    deviation = rows.std(axis=0)
    slopes, intercept = logistic.fit(rows / deviation, fitting, weights, RIDGE)
    named = {cue: round(float(slope), 2) for cue, slope in zip(prior.cues, slopes / deviation, strict=True)}
    return Prior(named, round(intercept, 2), prior.least)


def main() -> None:
    """Build, fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", metavar="CODE", default=LANGUAGES)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as workspace:
        folders = []
        for code in asked.codes:
            snapshot = Snapshot.open(build(catalog(FOLDER / code), workspace=Path(workspace)).snapshot)
            folders.append(Language(code, "", snapshot, read_judgements(FOLDER / code / "requests.jsonl")))
        fitted = [fit(folders, prior) for prior in PRIORS_OF_OTHERS]
        for held in folders:
            others = [folder for folder in folders if folder is not held]
            rows += held.measure([fit(others, prior) for prior in PRIORS_OF_OTHERS])
    priors = [{"weights": dict(prior.weights), "intercept": prior.intercept} for prior in fitted]
    if asked.json:
        text = json.dumps({"about": about(), "priors": priors, "rows": rows}, indent=1)
        asked.json.write_text(text + "\n", encoding="utf-8")
    console, drawn = Console(width=150), Table(*rows[0], box=None)
    for row in rows:
        drawn.add_row(*(value if isinstance(value, str) else f"{value:.3f}" for value in row.values()))
    console.print_json(data=priors)
    console.print(drawn)


if __name__ == "__main__":
    main()
