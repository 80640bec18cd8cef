"""The evaluation as a Prefect flow: measures a snapshot on a catalog's judgements."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.states import Failed

from flows.artifacts import show_evaluation
from flows.runtime import current_progress
from pipeline.errors import QuartermasterError, SettingsInvalid
from quartermaster.evaluation import judgements_of, measure, read_judgements
from router import Router


@flow(name="evaluate-catalog", flow_run_name="evaluate {bench}", persist_result=False)
def evaluate_catalog(bench: str, snapshot: str, recipe: str | None = None, name: str | None = None) -> Any:
    """Measure a snapshot, or the one that a catalog's folder or address serves, on the judgements in a folder.

    `bench` is the folder with judgements.jsonl or queries.jsonl; `name` is that of the artifact, by default the
    folder's. Returns the evaluation as JSON, and stores it as an artifact.
    """
    folder = Path(bench)
    try:
        file = judgements_of(folder)
        if file is None:
            raise SettingsInvalid(f"{folder} holds neither queries.jsonl nor judgements.jsonl")
        judgements = read_judgements(file)
        name = name or folder.resolve().name
        progress = current_progress()
        progress.start("evaluate", len(judgements))
        result = measure(Router.open(snapshot), judgements, bench=name, recipe=recipe, advance=progress.advance)
    except QuartermasterError as error:
        return Failed(message=str(error), data=error)
    show_evaluation(name, result)
    return result
