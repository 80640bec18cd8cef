"""The evaluation as a Prefect flow: measures a snapshot on a catalog's judgements."""

from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.states import Failed

from flows.artifacts import show_evaluation
from flows.engine.progress import FlowProgress
from pipeline.errors import QuartermasterError, SettingsInvalid
from quartermaster.evaluation import Judgement, judgements_of, measure, read_judgements
from router import Router


@task(name="evaluate", task_run_name="evaluate {bench}", cache_policy=NO_CACHE, persist_result=False)
def measure_snapshot(snapshot: str, judgements: list[Judgement], bench: str, recipe: str | None) -> dict[str, Any]:
    """Route every judged request and return the metrics. `bench` names the run."""
    progress = FlowProgress(bench)
    progress.start("evaluate", len(judgements))
    return measure(Router.open(snapshot), judgements, bench=bench, recipe=recipe, advance=progress.advance)


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
        result = measure_snapshot(snapshot, judgements, name, recipe)
    except QuartermasterError as error:
        return Failed(message=str(error), data=error)
    show_evaluation(name, result)
    return result
