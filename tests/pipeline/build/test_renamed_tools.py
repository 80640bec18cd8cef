"""Operations without an `operationId` that had other names when their catalog was built before."""

from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.settings import CatalogSettings, load
from pipeline.sources.formats import openapi
from router.feedback import FeedbackLog
from tests.pipeline.enrichment.model_server import ModelServer, row
from tests.support.notes import Notes
from tests.support.quick import QUICK
from tests.support.rows import write_rows

_NOUNS = ("badge", "car", "desk", "grade")


def _settings(folder: Path, server: ModelServer) -> CatalogSettings:
    """Write a catalog of which phrases, queries with qrels and two past requests are known by former ids."""
    ids = badge, car, desk, _ = [f"hr/get_-emp-id-{noun}" for noun in _NOUNS]
    paths = {f"/emp/{{id}}/{noun}": {"get": {"summary": f"Returns the {noun} of an employee."}} for noun in _NOUNS}
    write_rows(folder / "hr.json", [{"openapi": "3.0.0", "info": {"title": "hr", "version": "1"}, "paths": paths}])
    qrels = ({"id": i, "query": i[15:], "required": [i], "acceptable": [i], "kind": "single"} for i in ids)
    write_rows(folder / "judgements.jsonl", qrels)
    write_rows(folder / "expansions.jsonl", [{**row("badge"), "id": badge}])
    write_rows(folder / "usage.jsonl", [{"request": "where is my car", "tools": [car]}])
    log = FeedbackLog(folder / "log", texts=True)
    log.report(log.offered("s", [desk], request="where do I sit"), desk, "succeeded")
    log.close()
    model = {"expansions": "expansions.jsonl", **server.settings().model_dump(exclude_unset=True)}
    sections = {"enrichment": model, "tuning": {"calibrate": False, "usage": "usage.jsonl", "feedback": "log"}}
    return load(folder / "hr.json", {**QUICK, **sections}, environment={})


def test_what_is_known_of_renamed_tools_follows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer() as server, monkeypatch.context() as names:
        names.setattr(openapi, "route_name", lambda method, path, **_: f"{method}_{path}")
        settings, workspace, notes = _settings(tmp_path, server), tmp_path / "ws", Notes()
        before = build(settings, workspace=workspace)
        names.undo()
        assert plan(settings, workspace=workspace).estimate.questions == 0
        after = build(settings, workspace=workspace, progress=notes)
    assert (after.outcome, after.rejected, after.removed_tools, len(server.asked)) == ("published", (), (), 3)
    assert after.evaluation and after.evaluation["metrics"]["ndcg@10"] == 1
    assert after.generators == before.generators == {"file": 1, "openai": 3}
    assert (after.tuning["intents"]["requests"], after.tuning["intents"]["feedback"]["requests"]) == (1, 1)
    assert any(note.startswith("4 renamed tools: hr/get_-emp-id-badge is hr/get_emp_badge, ") for note in notes.said)
