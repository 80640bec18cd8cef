"""How well it is told that no tool fits, and the priors of it, fitted on other catalogs:
`python -m benchmarks.no_tool FOLDER… [--held FOLDER…] [--only-fitted FOLDER…] [--json FILE]`.

A FOLDER holds tools.jsonl and queries.jsonl, or is a judged catalog. It is built with its expansions and without,
or written FOLDER=SNAPSHOT for each build there is.

The priors of pipeline/learning/no_answer_calibration/prior.py and the calibrations of
router/retrieval/no_answer_calibration.py are fitted on all but the held folders, and printed. Each row of the table is
measured by priors fitted without any request of its folder, and by a calibration that no judgement trained.

Requests that no tool fits are those judged so. Where a folder judges none, they are made, and a share of its answerable
requests may fit them all the same: its own requests with their tools left out, other folders' requests, the background.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.support import logistic
from benchmarks.support.memoized_encoder import Remembering
from pipeline.build import build
from pipeline.learning.no_answer_calibration.background import background, score_background
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from pipeline.learning.no_answer_calibration.examples import without_acceptable
from pipeline.learning.no_answer_calibration.fitting import calibrate
from pipeline.learning.no_answer_calibration.prior import PRIORS, SHARES, TRIMMED, CueScale, Prior, cue_table
from pipeline.settings import load, overrides
from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from quartermaster.evaluation.abstention import auc, refused_at_95, reliability
from router.contract import Signal
from router.retrieval.fusion import fuse
from router.retrieval.no_answer_calibration import (
    BASE_RATE,
    BEST_BM25,
    DENSE_Z_SCORE,
    GENERIC,
    MEAN_COSINE,
    Calibration,
    FitEstimate,
    apply_calibrations,
    has_clear_leader,
    of_language,
)
from router.retrieval.recipe import DEFAULT
from router.retrieval.score_normalization import TASK_WORDING, BackgroundScores
from router.snapshot.snapshot import Snapshot
from router.text import ENGLISH

BUILDS = {"expansions": None, "bare": "none"}
# An agent asks its router at every turn of a conversation: most of what no tool fits is talk.
SHARES_OF_NONE = {"talk": 2 / 3, "absent": 1 / 6, "foreign": 1 / 12, "errand": 1 / 12}
FOREIGN_REQUESTS = 40  # of each other folder
RIDGE = 1e-2
CUES = [prior.cues for prior in PRIORS]
IN_MEMORY = [(DENSE_Z_SCORE, BEST_BM25), (BEST_BM25,)]
MAX_REFUSED_SHARE = 0.05

Cues = tuple[str, ...]
Rows = NDArray[np.float64]
_known: defaultdict[str, dict[str, NDArray[np.float32]]] = defaultdict(dict)  # by encoder


@dataclass
class Folder:
    """Judged requests, a snapshot, and what it answers to each sort of request."""

    name: str
    build: str
    snapshot: Snapshot
    judgements: Sequence[Judgement]
    foreign: Sequence[str] = ()
    _asked: dict[str, list[RankedQuery]] = field(default_factory=dict)

    @cached_property
    def ranker(self) -> BatchRanker:
        return BatchRanker(self.snapshot)

    @cached_property
    def surveyed(self) -> tuple[BackgroundScores, list[RankedQuery]]:
        requests = [query.request for query in background()]
        vectors = self.ranker.query_vectors(requests)
        return score_background(self.ranker, background(), vectors), self.ranker.rank(requests, vectors)

    @cached_property
    def answers(self) -> Mapping[str, Sequence[RankedQuery]]:
        """By sort of request: "own" has a fitting tool, the others have none, or none that is known."""
        own = [j for j in self.judgements if j.kind != "none"]
        asked = self.ranker.rank([j.request for j in own])
        everyday = list(zip(background(), self.surveyed[1], strict=True))
        return {
            "own": asked,
            "none": self.ranker.rank([j.request for j in self.judgements if j.kind == "none"]),
            "absent": [without_acceptable(self.ranker, *pair) for pair in zip(own, asked, strict=True)],
            "foreign": self.ranker.rank(self.foreign),
            "talk": [one for request, one in everyday if not request.is_errand],
            "errand": [one for request, one in everyday if request.is_errand],
        }

    def table(self, sort: str, cues: Cues) -> Rows:
        """(requests, cues), as they are where every list gives them by itself, else in deviations of the background."""
        asked = self.answers[sort]
        if cues in IN_MEMORY:
            return np.array([[one.evidence.get(cue, 0.0) for cue in cues] for one in asked]).reshape(-1, len(cues))
        cohort, everyday = self.surveyed
        scale = CueScale.of(cue_table(cohort, everyday, cues))
        return scale.standardise(cue_table(cohort, asked, cues))

    def gives(self, cues: Cues) -> bool:
        """Whether the snapshot's lists give all of some cues."""
        cohort = self.surveyed[0]
        known = {
            *cohort.statistics,
            BEST_BM25,
            *([TASK_WORDING, MEAN_COSINE, DENSE_Z_SCORE] if cohort.task_direction is not None else []),
        }
        return known.issuperset(cues)


def main() -> None:
    """Fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[=SNAPSHOT]")
    parser.add_argument("--held", nargs="*", default=[], metavar="FOLDER[=SNAPSHOT]", help="measured, never fitted on")
    parser.add_argument("--only-fitted", nargs="*", default=[], metavar="FOLDER[=SNAPSHOT]", help="not measured")
    parser.add_argument("--workspace", type=Path, default=Path(".quartermaster"))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    groups = [
        [folder for text in texts for folder in _open(text, asked.workspace)]
        for texts in (asked.folders, asked.held, asked.only_fitted)
    ]
    measured, held, only_fitted = groups
    everything = [*measured, *held, *only_fitted]
    requests = {f.name: [j.request for j in f.judgements if j.kind != "none"] for f in everything}
    for folder in everything:
        folder.foreign = [r for name, texts in requests.items() if name != folder.name for r in _spread(texts)]
    trained = [*measured, *only_fitted]
    priors, in_memory = _fit(trained)
    rows = []
    for folder in [*held, *measured]:
        rows += list(_measure(folder, *_fit([f for f in trained if f.name != folder.name])))
    result = {
        "base_rate": BASE_RATE,
        "fitted_on": sorted({f"{f.name}, {f.build}" for f in trained}),
        "priors": [_plain(prior) for prior in priors],
        "in_memory": [calibration.to_json() for calibration in in_memory],
    }
    if asked.json:
        asked.json.write_text(json.dumps(result | {"rows": rows}, indent=1) + "\n", encoding="utf-8")
    console = Console(width=150)
    console.print_json(data=result)
    console.print(_table(rows))


def _plain(prior: Prior) -> dict[str, Any]:
    weights = {str(cue): weight for cue, weight in prior.weights.items()}
    return {"weights": weights, "intercept": prior.intercept, "least": prior.least}


def _open(text: str, workspace: Path) -> Iterator[Folder]:
    """The folder with its one snapshot, or with one of each build."""
    path, _, snapshot = text.partition("=")
    file = judgements_of(Path(path))
    assert file, f"{path} holds no judged requests"
    paths = [Path(snapshot)] if snapshot else list(_built(Path(path), workspace))
    for opened in map(Snapshot.open, paths):
        if opened.encoder is not None:
            opened = replace(opened, encoder=Remembering(opened.encoder, _known[str(opened.manifest.encoder)]))
        kind = "expansions" if opened.manifest.counts["phrases"] else "bare"
        yield Folder(Path(path).resolve().name, kind, opened, read_judgements(file))


def _built(folder: Path, workspace: Path) -> Iterator[Path]:
    """A snapshot of each build; a folder without expansions has no build with them."""
    for name, generator in BUILDS.items():
        settings = load(folder, overrides(generator, "all-MiniLM-L6-v2"))
        if settings.enrichment.expansions is None and generator is None:
            continue
        if generator is not None:
            settings = settings.model_copy(
                update={"enrichment": settings.enrichment.model_copy(update={"expansions": None})}
            )
        publish = settings.publish.model_copy(update={"judged": False})
        tuning = settings.tuning.untaught() if settings.taught_by_judgements else settings.tuning
        settings = settings.model_copy(update={"publish": publish, "tuning": tuning})
        yield build(settings, workspace=workspace, area=f"no_tool_{name}").snapshot


def _spread(requests: Sequence[str]) -> list[str]:
    return [requests[i] for i in np.linspace(0, len(requests) - 1, min(len(requests), FOREIGN_REQUESTS)).astype(int)]


def _fit(trained: Sequence[Folder]) -> tuple[list[Prior], list[Calibration]]:
    """A prior for each set of cues, and calibrations for catalogs without a background."""
    priors = []
    for cues in CUES:
        slopes, intercept, least = _fitted([f for f in trained if f.gives(cues)], cues)
        weights = {cue: round(float(slope), 2) for cue, slope in zip(cues, slopes, strict=True)}
        priors.append(Prior(weights, round(intercept, 2), tuple(round(score, 2) for score in least)))
    in_memory = []
    for cues in IN_MEMORY:
        # Tools in memory have no phrases.
        slopes, intercept, least = _fitted([f for f in trained if f.build == "bare"], cues)
        weights = {cue: round(float(slope), 2) for cue, slope in zip(cues, slopes, strict=True)}
        # Without a background the scale of a catalog is not known: most of the share is left for that.
        threshold = 0.5 + 0.5 * np.tanh(least[0] / 2)
        in_memory.append(
            Calibration(weights, round(intercept, 2), round(float(threshold), 3), MAX_REFUSED_SHARE, GENERIC)
        )
    return priors, in_memory


def _fitted(trained: Sequence[Folder], cues: Cues) -> tuple[Rows, float, list[float]]:
    """Slopes, intercept, and for each of SHARES the score that so many answerable requests fall below in the folder
    where it is lowest."""
    parts: list[tuple[Rows, float, bool]] = []
    own = []
    for folder in trained:
        tables = {sort: folder.table(sort, cues) for sort in ("own", *SHARES_OF_NONE)}
        own.append(tables["own"])
        parts.append((tables["own"], BASE_RATE, True))
        # The catalog may well have tools for what fits it best of these.
        background_of = np.concatenate([tables["talk"], tables["errand"]])
        bounds = {"talk": _bound(background_of), "errand": _bound(background_of), "foreign": _bound(tables["foreign"])}
        for sort, share in SHARES_OF_NONE.items():
            rows = tables[sort]
            kept = rows[rows.sum(axis=1) <= bounds.get(sort, np.inf)]
            parts.append((kept, (1 - BASE_RATE) * share, False))
    weights = np.concatenate([np.full(len(rows), share / len(rows)) for rows, share, _ in parts]) / len(trained)
    fits = np.concatenate([np.full(len(rows), float(fits)) for rows, _, fits in parts])
    table = np.concatenate([rows for rows, _, _ in parts])
    deviation = table.std(axis=0)
    slopes, intercept = logistic.fit(table / deviation, fits, weights, RIDGE)
    slopes = slopes / deviation
    scores = [rows @ slopes + intercept for rows in own]
    return slopes, intercept, [min(float(np.quantile(s, share)) for s in scores) for share in SHARES]


def _bound(rows: Rows) -> float:
    return float(np.quantile(rows.sum(axis=1), 1 - TRIMMED))


def _measure(folder: Folder, taught: Sequence[Prior], in_memory: Sequence[Calibration]) -> Iterator[dict[str, Any]]:
    """A row for each calibration of a snapshot, and for those of tools in memory."""
    made = calibrate(folder.snapshot, priors=taught)
    own = of_language(made.calibrations, ENGLISH)
    rules = [("dense" if Signal.DENSE in c.weights else "lexical", c) for c in own]
    if folder.build == "bare":
        rules += [("dense, in memory" if DENSE_Z_SCORE in c.weights else "lexical, in memory", c) for c in in_memory]
    for by, calibration in rules:
        said = {
            sort: [verdict_of(folder, made.background, calibration, one) for one in asked]
            for sort, asked in folder.answers.items()
        }
        judged = bool(said["none"])
        fits = {sort: np.array([verdict.fits for verdict in verdicts]) for sort, verdicts in said.items()}
        against = ["none"] if judged else list(SHARES_OF_NONE)
        strange = np.concatenate([fits[sort] for sort in against])
        both, answerable = np.concatenate([fits["own"], strange]), np.arange(len(fits["own"]) + len(strange))
        right = answerable < len(fits["own"])
        refused = {sort: float(np.mean([v.none_fits for v in found])) for sort, found in said.items() if found}
        yield {
            "folder": folder.name,
            "build": folder.build,
            "by": by,
            "source": calibration.source,
            "none": "judged" if judged else "made",
            "auc": auc(both, right),
            "refused_at_95": refused_at_95(both, right),
            "error": reliability(both, right)["error"] if judged else _error(fits),
            "refused_wrongly": refused["own"],
            "refused": refused["none"] if judged else sum(refused[s] * share for s, share in SHARES_OF_NONE.items()),
            "refused_by_sort": refused,
            "leaders": float(np.mean([_leads(folder, one) for one in folder.answers["own"]])),
        }


def verdict_of(folder: Folder, cohort: BackgroundScores, calibration: Calibration, asked: RankedQuery) -> FitEstimate:
    """What a calibration says of a ranked request."""
    cues = {**asked.evidence, **cohort.features(asked.rankings, asked.terms, asked.vector)}
    lexical = not {Signal.DENSE, DENSE_Z_SCORE} & set(calibration.weights)
    lists = {s: r for s, r in asked.rankings.items() if not (lexical and s is Signal.DENSE)}
    verdict = apply_calibrations([calibration], cues, lambda: _leads(folder, replace(asked, rankings=lists)))
    assert verdict is not None, f"{folder.name} lacks a cue of {calibration.weights}"
    return verdict


def _leads(folder: Folder, asked: RankedQuery) -> bool:
    fused = fuse(asked.rankings, DEFAULT, folder.snapshot.expanded)[0]
    return has_clear_leader(asked.rankings, fused, folder.snapshot.duplicates)


def _error(fits: Mapping[str, Rows]) -> float:
    """The expected calibration error over ten bins, the sorts of requests weighed as they were for the fit."""
    shares = {"own": BASE_RATE, **{sort: (1 - BASE_RATE) * share for sort, share in SHARES_OF_NONE.items()}}
    gaps = np.zeros(10)
    for sort, share in shares.items():
        said = fits[sort]
        places = np.minimum((said * 10).astype(int), 9)
        gaps += np.bincount(places, (said - (sort == "own")) * share / len(said), 10)
    return float(np.abs(gaps).sum())


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    drawn = Table("folder", "build", "by", "source", "none are", box=None)
    columns = {
        "auc": "AUC",
        "error": "ECE",
        "refused_wrongly": "answerable refused",
        "refused": "none refused",
        "refused_at_95": "refused at 95 % kept",
    }
    for column in columns.values():
        drawn.add_column(column, justify="right")
    for row in rows:
        names = (row[name] for name in ("folder", "build", "by", "source", "none"))
        drawn.add_row(*names, *(f"{row[name]:.3f}" for name in columns))
    return drawn


if __name__ == "__main__":
    main()
