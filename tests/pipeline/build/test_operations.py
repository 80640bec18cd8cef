"""How operations are called, from the source through snapshots: kept, renewed, and no reason to pay again."""

import json
from pathlib import Path
from typing import Any

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.inspection import Inspection
from pipeline.settings import load
from router import Router
from router.operation import Operation
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.quick import QUICK


def published(tmp_path: Path, server: str, model: ModelServer) -> BuildReport:
    """Build a document of one operation at a server."""
    paths = {"/items": {"get": {"operationId": "listItems", "summary": "Lists the items of the shop."}}}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "Shop"}, "paths": paths}
    document["servers"] = [{"url": server}]
    (tmp_path / "shop.openapi.json").write_text(json.dumps(document), encoding="utf-8")
    overrides: dict[str, Any] = {**QUICK, "enrichment": model.settings().model_dump(exclude_unset=True)}
    settings = load(tmp_path / "shop.openapi.json", overrides, environment={})
    return build(settings, workspace=tmp_path / "ws")


def test_an_api_that_moves_gives_a_new_snapshot_in_which_no_tool_has_changed_and_asks_no_model(tmp_path: Path) -> None:
    with ModelServer() as model:
        first = published(tmp_path, "https://old.test", model)
        asked = len(model.asked)
        second = published(tmp_path, "https://new.test", model)
        assert (second.outcome, len(model.asked), asked > 0) == ("published", asked, True)
    (line,) = (first.snapshot / "records.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(line)  # beside the record, so that answers do not read it
    assert row["operation"]["path"] == "/items" and "operation" not in row["record"]
    for report, server in ((first, "https://old.test"), (second, "https://new.test")):
        with Router.open(report.snapshot) as router:
            record = router.complete_record("shop/listItems")
            assert record and record.operation == Operation("GET", "/items", servers=(server,))
            assert router.manifest.counts["tools"] == 1
    with Inspection.open(first.snapshot) as before, Inspection.open(second.snapshot) as after:
        hashes = "SELECT tool_id, record_hash FROM tools"
        assert before.rows(hashes) == after.rows(hashes)
        shown = after.tool("shop/listItems").record.operation
        assert shown == Operation("GET", "/items", servers=("https://new.test",))
        assert after.changes(first.snapshot).column("what") == (["operation"],)
