"""How well it is told that no tool fits, and what other catalogs teach of it:
`python -m tests.benchmarks.no_tool FOLDER… [--held FOLDER…] [--json FILE]`.

A FOLDER holds tools.jsonl and queries.jsonl, or is a judged catalog; it is built with its expansions and without, or is
written FOLDER=SNAPSHOT where that was done before. The priors of pipeline/tuning/prior.py are fitted on all folders but
the held ones, and printed. Each row of the table is measured by priors fitted without any request of its folder, and by
a calibration that no judgement trained. Where a folder judges no request to have no tool, the other folders' requests
and the background stand in, some of which its tools do answer: read such rows against each other only.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from flows.commands.judged import build_bench
from pipeline.progress import Silent
from pipeline.tuning import logistic
from pipeline.tuning.background import background
from pipeline.tuning.calibration import calibrate
from pipeline.tuning.cohort import Asker, survey
from pipeline.tuning.prior import PRIORS, SHARES, TRIMMED, Prior, Scale, tabulate
from router.cohort import ERRAND
from router.contract import Signal
from router.evaluation import Judgement, judgements_of, read_judgements
from router.evaluation.abstention import auc, refused_at_95
from router.retrievers import DenseView
from router.snapshot import Snapshot
from tests.benchmarks.remembering import Remembering

# An agent asks its router at every turn of a conversation: most of what no tool fits is talk.
TALK, ERRANDS, FOREIGN = 2 / 3, 1 / 6, 1 / 6
FOREIGN_REQUESTS = 150  # of each other folder
RIDGE = 1e-3
CUES = [prior.cues for prior in PRIORS]
Cues = tuple[str, ...]
_known: defaultdict[str, dict[str, NDArray[np.float32]]] = defaultdict(dict)  # by encoder
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Folder:
    """Judged requests, and a snapshot to ask them of."""

    name: str
    snapshot: Snapshot
    judgements: Sequence[Judgement]
    held: bool


@dataclass(frozen=True)
class Answers:
    """Standardised cues of a folder's answerable requests, of the background, and of the other folders' requests."""

    folder: str
    cues: Cues
    answerable: Rows
    talk: Rows
    errands: Rows
    foreign: dict[str, Rows]


def main() -> None:
    """Fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[=SNAPSHOT]")
    parser.add_argument("--held", nargs="*", default=[], metavar="FOLDER[=SNAPSHOT]", help="measured, never fitted on")
    parser.add_argument("--workspace", type=Path, default=Path(".quartermaster"))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    folders = [folder for text in asked.folders for folder in _open(text, False, asked.workspace)]
    folders += [folder for text in asked.held for folder in _open(text, True, asked.workspace)]
    others = {f.name: _spread([j.request for j in f.judgements if j.kind != "none"]) for f in folders}
    trained = [answers for folder in folders if not folder.held for answers in _answers(folder, others)]
    held = {folder.name for folder in folders if folder.held}
    priors = _fit(trained, held)
    rows = [row for f in folders for row in _measure(f, _fit(trained, {*held, f.name}), others)]
    result = {"priors": [{**asdict(p), "weights": {str(c): w for c, w in p.weights.items()}} for p in priors]}
    if asked.json:
        asked.json.write_text(json.dumps(result | {"rows": rows}, indent=2) + "\n", encoding="utf-8")
    console = Console(width=150)
    console.print_json(data=result)
    console.print(_table(rows))


def _open(text: str, held: bool, workspace: Path) -> Iterator[Folder]:
    """The folder with its one snapshot, or with one of each build."""
    path, _, snapshot = text.partition("=")
    file = judgements_of(Path(path))
    assert file, f"{path} holds no judged requests"
    paths = (
        [Path(snapshot)]
        if snapshot
        else [
            build_bench(Path(path), workspace, Silent(), without=bare, generator=None, encoder=None)
            for bare in (False, True)
        ]
    )
    for opened in map(Snapshot.open, paths):
        if opened.encoder is not None:
            opened = replace(opened, encoder=Remembering(opened.encoder, _known[str(opened.manifest.encoder)]))
        yield Folder(Path(path).resolve().name, opened, read_judgements(file), held)


def _spread(requests: Sequence[str]) -> list[str]:
    return [requests[i] for i in np.linspace(0, len(requests) - 1, min(len(requests), FOREIGN_REQUESTS)).astype(int)]


def _answers(folder: Folder, others: Mapping[str, Sequence[str]]) -> Iterator[Answers]:
    """What is fitted on, for each set of cues that the snapshot has."""
    asker = Asker(folder.snapshot)
    cohort, everyday = survey(asker, background())
    own = asker.ask([j.request for j in folder.judgements if j.kind != "none"])
    foreign = {name: asker.ask(requests) for name, requests in others.items() if name != folder.name}
    known = {*cohort.statistics, *([ERRAND] if cohort.errand is not None else [])}
    for cues in CUES:
        if not known.issuperset(cues):
            continue
        table = tabulate(cohort, everyday, cues)
        scale = Scale.of(table)
        errand = np.array([one.is_errand for one in background()])
        found = {name: scale.standardise(tabulate(cohort, asked, cues)) for name, asked in foreign.items()}
        yield Answers(
            folder.name,
            cues,
            scale.standardise(tabulate(cohort, own, cues)),
            scale.standardise(table[scale.kept & ~errand]),
            scale.standardise(table[scale.kept & errand]),
            # As of the background, so of them: the catalog may well have tools for those that fit it best.
            {n: rows[rows.sum(1) <= np.quantile(rows.sum(1), 1 - TRIMMED)] for n, rows in found.items()},
        )


def _fit(trained: Sequence[Answers], without: Collection[str]) -> list[Prior]:
    """A prior for each set of cues; nothing of the folders `without` is in it."""
    return [_prior([a for a in trained if a.cues == cues and a.folder not in without], cues, without) for cues in CUES]


def _prior(trained: Sequence[Answers], cues: Cues, without: Collection[str]) -> Prior:
    parts: list[tuple[Rows, float, bool]] = []
    for answers in trained:
        foreign = np.concatenate([rows for name, rows in answers.foreign.items() if name not in without])
        sides = ((answers.talk, TALK), (answers.errands, ERRANDS), (foreign, FOREIGN))
        parts += [(answers.answerable, 0.5, True), *((rows, share / 2, False) for rows, share in sides)]
    weights = np.concatenate([np.full(len(rows), share / len(rows)) for rows, share, _ in parts]) / len(trained)
    fits = np.concatenate([np.full(len(rows), float(fits)) for rows, _, fits in parts])
    slopes, intercept = logistic.fit(np.concatenate([rows for rows, _, _ in parts]), fits, weights, RIDGE)
    scores = [a.answerable @ slopes + intercept for a in trained]
    least = tuple(round(min(float(np.quantile(s, share)) for s in scores), 2) for share in SHARES)
    rounded = {cue: round(float(slope), 2) for cue, slope in zip(cues, slopes, strict=True)}
    return Prior(rounded, round(intercept, 2), least)


def _measure(folder: Folder, taught: Sequence[Prior], others: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """A row for each calibration of a snapshot, and one for its raw best phrase cosine."""
    asker = Asker(folder.snapshot)
    calibrated = calibrate(folder.snapshot, taught=taught)
    requests = [(j.kind != "none", j.request) for j in folder.judgements]
    if all(fits for fits, _ in requests):
        strange = [r for name, asked in others.items() if name != folder.name for r in asked]
        requests += [(False, r) for r in (*strange, *(one.request for one in background()))]
    fits = np.array([fits for fits, _ in requests])
    answers = asker.ask([request for _, request in requests])
    label = folder.name if folder.snapshot.manifest.counts["phrases"] else f"{folder.name}, bare"
    rows = [calibrated.cohort.cues(asked.rankings, asked.terms, asked.vector) for asked in answers]
    for calibration in calibrated.calibrations:
        said = np.array([calibration.probability(row) for row in rows], np.float64)
        refused = said < calibration.threshold
        yield {
            "folder": label,
            "by": "dense" if Signal.DENSE in calibration.weights else "lexical",
            "scale": calibration.source,
            "auc": auc(said, fits),
            "refused_at_95": refused_at_95(said, fits),
            "kept": float((~refused[fits]).mean()),
            "refused": float(refused[~fits].mean()),
            "error": _error(said, fits),
            "evidence": dict(calibration.evidence),
        }
    if folder.snapshot.dense is not None:
        view = DenseView.PHRASE if folder.snapshot.manifest.counts["phrases"] else DenseView.DOCUMENT
        vectors = [asked.vector for asked in answers if asked.vector is not None]
        best = np.array([folder.snapshot.dense.rank(vector, 1, view).scores[0] for vector in vectors])
        yield {
            "folder": label,
            "by": f"best {view} cosine",
            "auc": auc(best, fits),
            "refused_at_95": refused_at_95(best, fits),
        }


def _error(said: Rows, fits: NDArray[np.bool_]) -> float:
    """The expected calibration error over ten bins, both sides weighing the same."""
    weights = np.where(fits, 0.5 / fits.sum(), 0.5 / (~fits).sum())
    places = np.minimum((said * 10).astype(int), 9)
    return float(sum(abs(np.sum((weights * (said - fits))[places == place])) for place in range(10)))


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    drawn = Table("folder", "by", "scale", box=None)
    columns = {
        "auc": "AUC",
        "refused_at_95": "refused at 95 % kept",
        "kept": "kept",
        "refused": "refused",
        "error": "error",
    }
    for column in columns.values():
        drawn.add_column(column, justify="right")
    for row in rows:
        figures = (f"{row[name]:.3f}" if name in row else "" for name in columns)
        drawn.add_row(row["folder"], row["by"], row.get("scale", ""), *figures)
    return drawn


if __name__ == "__main__":
    main()
