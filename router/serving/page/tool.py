"""What a tool's page shows: the record that serves, and what the inspection database says of it."""

from typing import Any

from router.errors import QuartermasterError
from router.router import Router
from router.serving.page.comparing import SnapshotCache
from router.serving.page.inspecting import Inspect, Inspected

_DROPPED = "dropped"


def about(router: Router, tool_id: str, shelf: SnapshotCache | None, inspect: Inspect | None) -> dict[str, Any] | None:
    """The facts of a tool's page; None where no such tool is served."""
    snapshot = router.manifest.snapshot
    record = router.record(tool_id)
    if record is None:
        return None
    inspected, problem = None, ""
    if shelf is None or inspect is None:
        problem = "the server was started without access to catalog.duckdb"
    else:
        try:
            inspected = inspect(shelf.folder(snapshot), tool_id)
        except QuartermasterError as error:  # a tool that was registered at run time, or a database that is not there
            problem = str(error)
    phrases = _phrases(inspected) if inspected else []
    facts = {"record": record, "inspected": inspected, "problem": problem, "phrases": phrases}
    return {**facts, "tokens": router.tokens(tool_id) or {}, "counter": router.manifest.token_counter}


def _phrases(inspected: Inspected) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Each phrase with the other tools that have it, what was done with it, and why; first those that are indexed."""
    said = {
        text: (check, detail) for check, consequence, text, detail in _verdicts(inspected) if consequence != _DROPPED
    }
    rows = [
        (phrase, tuple(also or ()), "indexed", ": ".join(filter(None, said.get(phrase, ()))))
        for phrase, also in inspected.phrases.rows
    ]
    left = [
        (text, (), "left out", f"{check}: {detail}" if detail else check)
        for check, consequence, text, detail in _verdicts(inspected)
        if consequence == _DROPPED
    ]
    return [*rows, *left]


def _verdicts(inspected: Inspected) -> tuple[tuple[Any, ...], ...]:
    return inspected.verdicts.only("check_name", "consequence", "text", "detail").rows
