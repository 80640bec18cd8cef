"""A measurement as TREC files, for other evaluation tools."""

from pathlib import Path

from router.evaluation.answers import LISTS, Measurement
from router.evaluation.runs import qrels, run


def write_runs(folder: Path, measured: Measurement) -> list[Path]:
    """Write `qrels.txt` and `<list>.run` for each list that the measurement has; the files' paths.

    The folder is made where there is none; files of the same names are replaced, and a list that is lacking leaves
    none of an earlier one behind.
    """
    folder.mkdir(exist_ok=True)
    texts = {"qrels.txt": qrels(measured.judgements)}
    for name in LISTS:
        held = [(a.judgement, a.lists[name].ids, a.lists[name].scores) for a in measured.answers if name in a.lists]
        if held:
            texts[f"{name}.run"] = run(name, held)
        else:
            (folder / f"{name}.run").unlink(missing_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return [folder / file for file in texts]
