"""How operations are called, from the source through snapshots: kept, renewed, and no reason to pay again."""

import json
from pathlib import Path
from typing import Any

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.inspection import Inspection
from pipeline.settings import load
from pipeline.sources.last_reading import SourceReading
from router import Router
from router.operation import Operation
from router.snapshot.record_store import RecordStore, ToolEntry
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.factories import make_raw, make_record
from tests.support.quick import QUICK


def published(tmp_path: Path, server: str, model: ModelServer | None = None) -> BuildReport:
    """Build a document of one operation at a server."""
    paths = {"/items": {"get": {"operationId": "listItems", "summary": "Lists the items of the shop."}}}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "Shop"}, "paths": paths}
    if server:
        document["servers"] = [{"url": server}]
    (tmp_path / "shop.openapi.json").write_text(json.dumps(document), encoding="utf-8")
    overrides: dict[str, Any] = dict(QUICK)
    if model:
        overrides["enrichment"] = model.settings().model_dump(exclude_unset=True)
    settings = load(tmp_path / "shop.openapi.json", overrides, environment={})
    return build(settings, workspace=tmp_path / "ws")


def test_an_api_that_moves_gives_a_new_snapshot_in_which_no_tool_has_changed(tmp_path: Path) -> None:
    first = published(tmp_path, "https://old.test")
    assert published(tmp_path, "https://old.test").outcome == "unchanged"
    second = published(tmp_path, "https://new.test")
    assert second.outcome == "published"
    for report, server in ((first, "https://old.test"), (second, "https://new.test")):
        with Router.open(report.snapshot) as router:
            record = router.complete_record("shop/listItems")
            assert record and record.operation == Operation("GET", "/items", servers=(server,))
            assert router.manifest.counts["tools"] == 1
    with Inspection.open(first.snapshot) as before, Inspection.open(second.snapshot) as after:
        assert before.record_hashes() == after.record_hashes()
        assert after.tool("shop/listItems").record.operation == Operation(
            "GET", "/items", servers=("https://new.test",)
        )
        changes = after.changes(first.snapshot)
        assert [dict(zip(changes.columns, row, strict=True))["what"] for row in changes.rows] == [["operation"]]


def test_the_line_of_a_tool_has_its_operation_beside_the_record(tmp_path: Path) -> None:
    (line,) = (published(tmp_path, "").snapshot / "records.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(line)
    assert row["operation"] == {"method": "GET", "path": "/items"} and "operation" not in row["record"]


def test_a_snapshot_without_operations_opens_as_before() -> None:
    store = RecordStore.of([ToolEntry(make_record(), ())])
    assert store.complete_record(0).operation is None


def test_a_source_that_fails_keeps_how_its_tools_are_called() -> None:
    tool = make_raw(operation=Operation("GET", "/items", servers=("https://a.test",)))
    reading = SourceReading("key", "a.json", (tool, make_raw("other")))
    assert SourceReading.from_text("key", "a.json", reading.to_text()) == reading


def test_an_api_that_moves_asks_no_model_again(tmp_path: Path) -> None:
    with ModelServer() as model:
        published(tmp_path, "https://old.test", model)
        asked = len(model.asked)
        assert asked > 0
        assert published(tmp_path, "https://new.test", model).outcome == "published"
        assert len(model.asked) == asked
