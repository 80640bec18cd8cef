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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.languages import FOLDER, LANGUAGES, catalog
from benchmarks.support import logistic
from pipeline.build import build
from pipeline.learning.no_answer_calibration.background import background, score_background, talk
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from pipeline.learning.no_answer_calibration.examples import without_acceptable
from pipeline.learning.no_answer_calibration.fitting import ABSENT_SHARE, calibrate
from pipeline.learning.no_answer_calibration.prior import PRIORS_OF_OTHERS, CueScale, Prior, cue_table
from quartermaster.evaluation import Judgement, read_judgements
from quartermaster.evaluation.abstention import auc
from router.retrieval.no_answer_calibration import BASE_RATE, BEST_BM25, Calibration, FitEstimate
from router.search.search import clean_request, estimate_fit, search
from router.snapshot.snapshot import Snapshot

FOLDS = 5
RIDGE = 1e-3
Rows = NDArray[np.float64]


@dataclass
class Language:
    """A language's snapshot and judged requests, and what no tool answers in it."""

    code: str
    snapshot: Snapshot
    judgements: Sequence[Judgement]

    @cached_property
    def answerable(self) -> list[Judgement]:
        return [one for one in self.judgements if one.kind != "none"]

    @cached_property
    def ranked(self) -> dict[str, list[RankedQuery]]:
        ranker = BatchRanker(self.snapshot)
        own = ranker.rank([one.request for one in self.answerable])
        absent = [without_acceptable(ranker, *pair) for pair in zip(self.answerable, own, strict=True)]
        return {"own": own, "absent": absent, "talk": ranker.rank(talk()[self.code])}

    def tables(self, cues: Sequence[str]) -> dict[str, Rows]:
        """The cues as a build has them, by sort of request."""
        ranker, requests = BatchRanker(self.snapshot), [query.request for query in background()]
        vectors = ranker.query_vectors(requests)
        scores = score_background(ranker, background(), vectors)
        table = cue_table(scores, ranker.rank(requests, vectors), cues)
        scale = CueScale.of(table, np.array([cue == BEST_BM25 for cue in cues]))
        return {sort: scale.standardise(cue_table(scores, queries, cues)) for sort, queries in self.ranked.items()}

    def estimates(self, requests: Iterable[str | Judgement], calibrations: Sequence[Calibration]) -> list[FitEstimate]:
        """What a router with some calibrations says; of a judgement, as if its tools were not there."""
        snapshot, found = replace(self.snapshot, calibrations=tuple(calibrations)), []
        for asked in requests:
            text = asked if isinstance(asked, str) else asked.request
            result = search(snapshot, clean_request(text), snapshot.recipe)
            if isinstance(asked, Judgement):
                query = RankedQuery(result.rankings, result.query.terms, result.query.adapted_vector, {})
                without = without_acceptable(BatchRanker(snapshot), asked, query)
                result = replace(result, rankings=without.rankings)
            verdict = estimate_fit(snapshot, result, snapshot.recipe)
            assert verdict is not None, text
            found.append(verdict)
        return found

    def measure(self, priors: Sequence[Prior]) -> Iterator[dict[str, Any]]:
        """A row for a catalog that judges nothing, and for one that judges these requests."""
        none = [one.request for one in self.judgements if one.kind == "none"]
        sorts = {"talk": talk()[self.code], "none": none}
        for name, folds in (
            ("generic", [self.answerable]),
            ("judged", [self.answerable[f::FOLDS] for f in range(FOLDS)]),
        ):
            fits: dict[str, list[FitEstimate]] = {"own": [], "absent": [], "talk": [], "none": []}
            for fold in folds:
                judged = [one for one in self.answerable if one not in fold]
                made = calibrate(self.snapshot, judged, priors_of_others=priors).calibrations
                fits["own"] += self.estimates([one.request for one in fold], made)
                fits["absent"] += self.estimates(fold, made)
                for sort, requests in sorts.items():
                    fits[sort] += self.estimates(requests, made)
            said = {sort: np.array([one.fits for one in verdicts]) for sort, verdicts in fits.items()}
            refused = {sort: float(np.mean([one.none_fits for one in fits[sort]])) for sort in ("own", "talk", "none")}
            areas = {sort: _auc(said["own"], said[sort]) for sort in ("talk", "none", "absent")}
            calibrated = float(np.mean([one.calibrated for one in fits["own"]]))
            yield {"language": self.code, "by": name, "calibrated": calibrated, "refused": refused, "auc": areas}


def _auc(right: Rows, wrong: Rows) -> float:
    return auc(np.concatenate([right, wrong]), np.arange(len(right) + len(wrong)) < len(right))


def fit(tables: Sequence[Mapping[str, Rows]], cues: Sequence[str], least: tuple[float, ...]) -> Prior:
    """Return the prior of some languages; each has the same weight."""
    shares = {"own": BASE_RATE, "talk": (1 - BASE_RATE) * (1 - ABSENT_SHARE), "absent": (1 - BASE_RATE) * ABSENT_SHARE}
    parts = [(of[sort], share, float(sort == "own")) for of in tables for sort, share in shares.items()]
    rows = np.concatenate([part for part, _, _ in parts])
    weights = np.concatenate([np.full(len(part), share / len(part)) for part, share, _ in parts]) / len(tables)
    fitting = np.concatenate([np.full(len(part), fits) for part, _, fits in parts])
    deviation = rows.std(axis=0)
    slopes, intercept = logistic.fit(rows / deviation, fitting, weights, RIDGE)
    named = {cue: round(float(slope), 2) for cue, slope in zip(cues, slopes / deviation, strict=True)}
    return Prior(named, round(intercept, 2), least)


def main() -> None:
    """Build, fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", metavar="CODE", default=LANGUAGES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--workspace", type=Path, help="kept, with its snapshots")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        languages = [_open(code, asked.workspace or Path(temporary)) for code in asked.codes]
        tables = {prior.cues: {one.code: one.tables(prior.cues) for one in languages} for prior in PRIORS_OF_OTHERS}

        def priors(held: str = "") -> list[Prior]:
            return [
                fit([table for code, table in tables[prior.cues].items() if code != held], prior.cues, prior.least)
                for prior in PRIORS_OF_OTHERS
            ]

        fitted = [{"weights": dict(prior.weights), "intercept": prior.intercept} for prior in priors()]
        rows = [row for one in languages for row in one.measure(priors(one.code))]
    console = Console(width=150)
    console.print_json(data=fitted)
    console.print(_table(rows))
    if asked.json:
        asked.json.write_text(json.dumps({"priors": fitted, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def _open(code: str, workspace: Path) -> Language:
    folder = FOLDER / code
    built = build(catalog(folder), workspace=workspace)
    return Language(code, Snapshot.open(built.snapshot), read_judgements(folder / "requests.jsonl"))


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    drawn = Table("", "by", box=None)
    for column in ("calibrated", "refused: answerable", "talk", "none", "AUC: talk", "none", "absent"):
        drawn.add_column(column, justify="right")
    for row in rows:
        shares = (row["calibrated"], *row["refused"].values(), *row["auc"].values())
        drawn.add_row(row["language"], row["by"], *(f"{share:.3f}" for share in shares))
    return drawn


if __name__ == "__main__":
    main()
