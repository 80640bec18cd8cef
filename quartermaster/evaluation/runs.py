"""Write judgements and rankings as TREC files, which every retrieval evaluation tool reads: qrels, and a run a list.

A line of qrels is `request 0 tool relevance`, of a run `request Q0 tool rank score list`, separated by spaces. Spaces
and percent signs inside an id are percent-encoded.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.measurement import LISTS, Measurement


def write_runs(folder: Path, measured: Measurement) -> list[Path]:
    """Write `qrels.txt` and a `<list>.run` for each list of the measurement; return their paths.

    Makes the folder where there is none, replaces files of the same names, and removes the run of a list that this
    measurement lacks.
    """
    folder.mkdir(exist_ok=True)
    texts = {"qrels.txt": qrels(measured.judgements)}
    for name in LISTS:
        rows = [(r.judgement, r.lists[name].ids, r.lists[name].scores) for r in measured.results if name in r.lists]
        if rows:
            texts[f"{name}.run"] = run(name, rows)
        else:
            (folder / f"{name}.run").unlink(missing_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return [folder / file for file in texts]


def qrels(judgements: Iterable[Judgement]) -> str:
    """Return the relevant tools of each request as qrels, with relevance 1, as nDCG counts them.

    Requests that no tool answers have no line, so that other tools leave them out too.
    """
    return "".join(
        f"{_escaped(judgement.id)} 0 {_escaped(tool_id)} 1\n"
        for judgement in judgements
        if judgement.kind != "none"
        for tool_id in sorted(judgement.relevant)
    )


def run(name: str, rows: Iterable[tuple[Judgement, Sequence[str], Sequence[float]]]) -> str:
    """Return a list's tools and scores for each request as a run, best first.

    Other tools order a run by score alone, as 32-bit floats, and break ties their own way. Equal scores are therefore
    lowered by the least step, which keeps our order.
    """
    lines = []
    for judgement, ids, scores in rows:
        if judgement.kind == "none":
            continue
        last = np.float32(np.inf)
        for rank, (tool_id, score) in enumerate(zip(ids, scores, strict=True), 1):
            last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
            lines.append(f"{_escaped(judgement.id)} Q0 {_escaped(tool_id)} {rank} {float(last):.9g} {name}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return re.sub(r"[\s%\x00-\x1f]", lambda match: quote(match[0], safe=""), text) or "%"
