"""One tool's page: the record that serves, and what the inspection database knows of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from quartermaster.evaluation.verdict import advice, verdict
from router.answer.diagnosis import Diagnosis, ListPlace
from router.errors import QuartermasterError
from router.router import Router

_DROPPED = "dropped"

# Takes a snapshot's folder and a tool's id. Returns a `pipeline.inspection` ToolInspection. Raises QuartermasterError
# if the database or the tool is missing.
InspectTool = Callable[[Path, str], Any]


def tool_values(router: Router, tool_id: str, inspect: InspectTool | None) -> dict[str, Any] | None:
    """Return the values of the template of a tool's page, None if no such tool is served."""
    record = router.record(tool_id)
    if record is None:
        return None
    inspected, problem, folder = None, "", router.folder
    if folder is None or inspect is None:
        problem = "this page is served without access to catalog.duckdb"
    else:
        try:
            inspected = inspect(folder, tool_id)
        except QuartermasterError as error:  # the tool was registered at run time, or there is no database
            problem = str(error)
    return {
        "record": record,
        "instructions": router.instructions(tool_id),
        "inspected": inspected,
        "problem": problem,
        "phrases": _phrases(inspected) if inspected else [],
        "needs": router.prerequisites(tool_id),
        "needed_by": router.needed_by(tool_id),
        "tokens": router.tokens(tool_id) or {},
        "counter": router.manifest.token_counter,
    }


def diagnosis_values(router: Router, tool_id: str, request: str) -> dict[str, Any]:
    """Return the values of the part of a tool's page that says why a request finds it, or does not."""
    values: dict[str, Any] = {"request": request, "diagnosis": None, "failed": ""}
    if not request:
        return values
    try:
        diagnosis = router.diagnose(request, tool_id)
    except QuartermasterError as error:
        return {**values, "failed": str(error)}
    said = {"verdict": verdict(diagnosis), "advice": advice(diagnosis)}
    return {**values, "diagnosis": diagnosis, "places": _places(diagnosis), **said}


def _places(diagnosis: Diagnosis) -> list[tuple[ListPlace, str]]:
    """Return the tool's place in each list, and what that gives to its score."""
    contributions, score = diagnosis.tool.contributions, diagnosis.tool.score
    return [(place, _share(contributions.get(place.signal, 0.0), score)) for place in diagnosis.lists]


def _share(contribution: float, score: float) -> str:
    return f"{contribution / score:.0%}".replace("%", " %") if contribution and score > 0 else "–"


def _phrases(inspected: Any) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Return (phrase, other tools that have it, verdict, reason) of each phrase, those that are indexed first."""
    verdicts = inspected.verdicts.only("check_name", "consequence", "text", "detail").rows
    reasons = {text: (check, detail) for check, consequence, text, detail in verdicts if consequence != _DROPPED}
    indexed = [
        (phrase, tuple(also or ()), "indexed", ": ".join(filter(None, reasons.get(phrase, ()))))
        for phrase, also in inspected.phrases.rows
    ]
    dropped = [
        (text, (), "left out", f"{check}: {detail}" if detail else check)
        for check, consequence, text, detail in verdicts
        if consequence == _DROPPED
    ]
    return [*indexed, *dropped]
