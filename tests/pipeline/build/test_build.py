"""The whole build: incremental by content, gated, atomic."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from pipeline.settings import load
from router import Router, Signal
from router.contract import DOCUMENT_SIGNALS, VECTOR_OFFSETS, VECTOR_SCALES, VECTORS
from router.retrieval.retrievers import ToolVectors
from tests.support.places import ROOT


@pytest.fixture
def catalog(catalog_folder: Path, tmp_path: Path) -> Path:
    """A copy of the session's catalog, to be changed."""
    return shutil.copytree(catalog_folder, tmp_path / "office")


@pytest.fixture
def run(encoder_folder: Path, tmp_path: Path) -> Any:
    """Build a catalog in the test's own workspace."""

    def _run(path: Path, encoder: str | None = None, **sections: dict[str, Any]) -> BuildReport:
        overrides = {"vectors": {"encoder": encoder or str(encoder_folder)}, **sections}
        return build(load(path, overrides, environment={}), workspace=tmp_path / "ws")

    return _run


def edit(path: Path, position: int, **fields: Any) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[position].update(fields)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_build_publishes_a_snapshot_that_the_router_opens(run: Any, catalog: Path, tmp_path: Path) -> None:
    report = run(catalog)
    assert report.outcome == "published"
    assert report.counts["tools"] == report.generators["file"] == 8
    router = Router.open(tmp_path / "ws" / "snapshots" / "office")
    assert router.manifest.snapshot == report.snapshot.name
    assert router.manifest.signals == DOCUMENT_SIGNALS


def test_a_second_build_asks_nothing_embeds_nothing_and_keeps_the_snapshot(run: Any, catalog: Path) -> None:
    first = run(catalog)
    second = run(catalog)
    assert (second.outcome, second.snapshot) == ("unchanged", first.snapshot)
    assert (second.asked, second.embedded, second.reused) == ({}, 0, 8)


def test_a_forced_build_gives_equal_rankings(run: Any, catalog: Path, encoder_folder: Path, tmp_path: Path) -> None:
    first = run(catalog)
    settings = load(catalog, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    second = build(settings, workspace=tmp_path / "ws", force=True)
    assert second.snapshot != first.snapshot and second.embedded == 0
    old, new = Router.open(first.snapshot), Router.open(second.snapshot)
    for request in ("refund the customer", "open a ticket", "what is new"):
        assert old.route(request, explain=True).tools == new.route(request, explain=True).tools


def test_a_changed_tool_costs_one_tool(run: Any, catalog: Path) -> None:
    run(catalog)
    edit(catalog / "tools.jsonl", 0, description="Returns charges, oldest first.")
    report = run(catalog)
    assert report.outcome == "published"
    assert (report.asked, report.reused) == ({"file": 1}, 7)
    assert report.embedded == 2  # its document, and its own words for the assessment; its phrases stay


def test_a_build_says_what_it_wrote_and_what_old_snapshots_gave_back(run: Any, catalog: Path) -> None:
    first = run(catalog)
    assert first.written_bytes > 0 and first.freed_bytes == 0
    unchanged = run(catalog)
    assert (unchanged.written_bytes, unchanged.freed_bytes) == (0, 0)
    edit(catalog / "tools.jsonl", 0, description="Returns charges, oldest first.")
    edit(catalog / "tools.jsonl", 1, description="Gives the money back.")
    run(catalog, publish={"keep": 1})
    edit(catalog / "tools.jsonl", 0, description="Returns charges, newest first.")
    told = run(catalog, publish={"keep": 1}).to_json()
    assert told["removed"] == [first.snapshot.name]
    assert told["written_bytes"] > 0 and told["freed_bytes"] > 0


def test_a_build_says_which_tools_are_new_changed_and_removed(run: Any, catalog: Path) -> None:
    first = run(catalog)
    ids = sorted(json.loads(line)["id"] for line in (catalog / "tools.jsonl").read_text("utf-8").splitlines())
    assert (first.difference.snapshot, list(first.added), first.changed, first.removed_tools) == (None, ids, (), ())
    assert str(first.difference) == "8 new, 0 changed, 0 removed: no snapshot served before"
    assert str(run(catalog).difference) == f"0 new, 0 changed, 0 removed since {first.snapshot.name}"
    edit(catalog / "tools.jsonl", 0, description="Returns charges, oldest first.")
    edit(catalog / "tools.jsonl", 1, id="stripe/give_back", name="give_back")
    edit(catalog / "tools.jsonl", 2, origin="elsewhere")  # not of the record
    told = run(catalog).to_json()
    assert (told["before"], told["added"], told["changed"], told["removed_tools"]) == (
        first.snapshot.name,
        ["stripe/give_back"],
        ["stripe/list_charges"],
        ["stripe/create_refund"],
    )


def test_a_snapshot_that_cannot_be_opened_counts_as_none_before(run: Any, catalog: Path) -> None:
    first = run(catalog)
    (first.snapshot / "catalog.duckdb").write_bytes(b"broken")
    edit(catalog / "tools.jsonl", 0, description="Returns charges, oldest first.")
    assert str(run(catalog).difference) == "8 new, 0 changed, 0 removed: no snapshot served before"


def test_a_removed_tool_goes_and_its_answer_stays_in_the_ledger(run: Any, catalog: Path, tmp_path: Path) -> None:
    run(catalog)
    lines = (catalog / "tools.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (catalog / "tools.jsonl").write_text("".join(lines[1:]), encoding="utf-8")
    report = run(catalog)
    assert Router.open(report.snapshot).record("stripe/list_charges") is None
    with duckdb.connect(str(tmp_path / "ws" / "ledger.duckdb"), read_only=True) as ledger:
        found = ledger.execute("SELECT count(*) FROM expansions WHERE tool_id = 'stripe/list_charges'").fetchall()
    assert found == [(1,)]


def test_rejected_records_are_reported_and_stored_and_the_rest_go_on(run: Any, catalog: Path) -> None:
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"name": 7}\n')
    report = run(catalog, publish={"max_rejected_share": 0.5})
    assert report.outcome == "published" and report.counts["rejected"] == 1
    with duckdb.connect(str(report.snapshot / "catalog.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT file, pointer, reason FROM rejections").fetchall()
    assert rows == [("tools.jsonl", "line 9", "name is a number, not a text")]


def test_too_many_rejected_records_hold_the_snapshot_back(run: Any, catalog: Path, tmp_path: Path) -> None:
    first = run(catalog)
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("not json\n" * 3)
    assert run(catalog).outcome == "unchanged"  # the good records are the same; the gate is still heard
    assert run(catalog).held
    tool = json.loads((catalog / "tools.jsonl").read_text(encoding="utf-8").splitlines()[0])
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({**tool, "id": "stripe/list_more", "name": "list_more"}) + "\n")
    report = run(catalog)
    assert report.outcome == "held" and "25.0%" in report.held[0]
    assert report.snapshot.is_dir()
    assert Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot == first.snapshot.name


def test_a_catalog_held_twice_is_written_once(run: Any, catalog: Path) -> None:
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("not json\n" * 3)
    first, second = run(catalog), run(catalog)
    assert (first.outcome, second.outcome) == ("held", "held")
    assert first.snapshot == second.snapshot


def test_a_second_build_in_the_same_process_waits_its_turn(run: Any, catalog: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ws"), pytest.raises(RunAborted, match="in use by another build"):
        run(catalog)


def test_a_failed_build_leaves_the_old_snapshot_serving(run: Any, catalog: Path, tmp_path: Path) -> None:
    first = run(catalog)
    (catalog / "tools.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(RunAborted, match="no tool"):
        run(catalog)
    assert Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot == first.snapshot.name
    with duckdb.connect(str(tmp_path / "ws" / "ledger.duckdb"), read_only=True) as ledger:
        outcomes = ledger.execute("SELECT outcome FROM runs ORDER BY run_id").fetchall()
    assert outcomes == [("published",), ("failed",)]


def test_a_corrupt_current_snapshot_is_built_anew(run: Any, catalog: Path) -> None:
    first = run(catalog)
    (first.snapshot / "records.jsonl").write_text("damaged", encoding="utf-8")
    second = run(catalog)
    assert second.outcome == "published" and second.snapshot != first.snapshot


def test_a_catalog_without_vectors_routes_by_words(run: Any, catalog: Path) -> None:
    router = Router.open(run(catalog, encoder="none").snapshot)
    assert Signal.DENSE not in router.manifest.signals and router.manifest.encoder is None
    tool = router.route("undo a payment", explain=True)[0]
    assert tool.tool_id == "stripe/create_refund" and tool.phrase is None


def test_a_catalog_without_expansions_routes_by_what_it_has(run: Any, catalog: Path) -> None:
    (catalog / "expansions.jsonl").unlink()
    router = Router.open(run(catalog, enrichment={"generator": "none"}).snapshot)
    assert router.manifest.signals == (Signal.NAME, Signal.DESCRIPTION, Signal.DENSE)
    assert router.route("create a refund").ids[0] == "stripe/create_refund"


def test_the_lexicon_writes_where_there_is_no_file_and_no_model(run: Any, catalog: Path) -> None:
    (catalog / "expansions.jsonl").unlink()
    assert run(catalog).generators == {"lexicon": 8}


def test_the_snapshots_database_holds_what_the_router_serves(run: Any, catalog: Path) -> None:
    folder = run(catalog).snapshot
    with duckdb.connect(str(folder / "catalog.duckdb"), read_only=True) as connection:
        ids = [row[0] for row in connection.execute("SELECT tool_id FROM tools ORDER BY ordinal").fetchall()]
        kind = connection.execute("SELECT typeof(vector) FROM vectors LIMIT 1").fetchall()
        first = connection.execute(
            "SELECT vector FROM vectors JOIN tools USING (tool_id) WHERE position IS NULL ORDER BY ordinal"
        ).fetchall()
    router = Router.open(folder)
    assert ids == [router.tool_id(ordinal) for ordinal in range(8)] == sorted(ids)
    assert kind == [("FLOAT[32]",)]
    # The database has the vectors as they were made, the router a byte for each component.
    served = ToolVectors(*(np.load(folder / name) for name in (VECTORS, VECTOR_SCALES, VECTOR_OFFSETS)))
    assert np.array([row[0] for row in first]) == pytest.approx(served.documents(), abs=0.5 / 127)


def test_the_order_of_a_file_does_not_matter(run: Any, catalog: Path) -> None:
    first = Router.open(run(catalog).snapshot).route("open an issue", explain=True).tools
    lines = (catalog / "tools.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (catalog / "tools.jsonl").write_text("".join(reversed(lines)), encoding="utf-8")
    second = Router.open(run(catalog).snapshot).route("open an issue", explain=True).tools
    assert [(t.tool_id, t.score, t.ranks) for t in first] == [(t.tool_id, t.score, t.ranks) for t in second]


def test_a_build_of_a_bert_needs_no_torch(catalog: Path, encoder_folder: Path, tmp_path: Path) -> None:
    code = f"""
import sys
for name in ("torch", "transformers", "sentence_transformers", "scipy", "sklearn", "faiss"):
    sys.modules[name] = None  # an import of it fails
from pathlib import Path
from pipeline.build import build
from pipeline.settings import load
settings = load(Path({str(catalog)!r}), {{"vectors": {{"encoder": {str(encoder_folder)!r}}}}}, environment={{}})
print(build(settings, workspace=Path({str(tmp_path / "ws")!r})).outcome)
"""
    variables = {**os.environ, "QUARTERMASTER_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("published\n", "")
    assert len(list((tmp_path / "cache" / "encoders").glob("[!.]*"))) == 2  # fp32 and int8
    assert not (tmp_path / "ws" / "encoders").exists()


def test_without_a_writable_cache_the_workspace_keeps_the_encoder_and_it_is_told(
    catalog: Path, encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    class Heard(SilentProgress):
        def note(self, message: str) -> None:
            notes.append(message)

    (tmp_path / "file").touch()
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path / "file" / "cache"))
    settings = load(catalog, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    assert build(settings, workspace=tmp_path / "ws", progress=Heard()).outcome == "published"
    assert len(list((tmp_path / "ws" / "encoders").glob("[!.]*"))) == 2
    told = [note for note in notes if "cannot be written" in note]
    assert len(told) == 1 and str(tmp_path / "ws") in told[0]


def test_a_build_without_faiss_says_what_each_request_will_be_held_against(
    catalog: Path, encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    class Heard(SilentProgress):
        def note(self, message: str) -> None:
            notes.append(message)

    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr("pipeline.publish.served_files.MOST_COPIED", 30)  # of the catalog's 40 vectors
    settings = load(catalog, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    assert build(settings, workspace=tmp_path / "ws", progress=Heard()).outcome == "published"
    assert [note for note in notes if note.startswith("without faiss") and "[large]" in note]
