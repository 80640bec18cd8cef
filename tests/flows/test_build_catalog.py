"""The build as a flow: the same snapshot, its artifacts, its states."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.sorting import FlowRunSort
from typer.testing import CliRunner

from flows.build_catalog import build_catalog
from flows.cli.main import app
from flows.engine.progress import shown_on
from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from pipeline.settings import load
from router import Router
from tests.pipeline.sources.reading import api
from tests.support.places import ROOT

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def catalog(catalog_folder: Path, tmp_path: Path) -> Path:
    """A copy of the session's catalog with a judged request, to be changed."""
    folder = shutil.copytree(catalog_folder, tmp_path / "office")
    judged: dict[str, Any] = {"id": "1", "query": "undo a payment", "kind": "single", "slice": "everyday"}
    judged |= {"required": ["stripe/create_refund"], "acceptable": ["stripe/create_refund"]}
    (folder / "judgements.jsonl").write_text(json.dumps(judged) + "\n", encoding="utf-8")
    return folder


def flow_state(path: Path, workspace: Path, **parameters: Any) -> Any:
    """The final state of a run of the flow."""
    return build_catalog(str(path), str(workspace), **parameters, return_state=True)


def artifacts(state: Any) -> dict[str | None, Any]:
    """What a run and its subflows left, by key."""
    run = state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run])), sort=None
        )
        ran = client.read_flow_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run])))
    assert len(ran) == 1
    return {artifact.key: artifact.data for artifact in found}


def task_names(state: Any) -> set[str]:
    """The names of a run's tasks, as soon as the server has the last: they are reported as events."""
    wanted = FlowRunFilter(id=FlowRunFilterId(any_=[state.state_details.flow_run_id]))
    until = time.monotonic() + 30
    with get_client(sync_client=True) as client:
        while True:
            names = {run.name for run in client.read_task_runs(flow_run_filter=wanted)}
            if "publish" in names or time.monotonic() > until:
                return names
            time.sleep(0.2)


def test_a_flow_publishes_the_snapshot_that_the_plain_build_publishes(
    catalog: Path, encoder_folder: Path, tmp_path: Path
) -> None:
    settings = load(catalog, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    plain = build(settings, workspace=tmp_path / "plain")
    by_flow = flow_state(catalog, tmp_path / "flow", encoder=str(encoder_folder)).result()
    assert isinstance(by_flow, BuildReport)
    old, new = Router.open(plain.snapshot), Router.open(by_flow.snapshot)
    assert old.manifest.content_hash == new.manifest.content_hash
    # Tantivy names its files at random, and the database holds times; what is served from the rest is byte for byte.
    for name in (
        "records.jsonl",
        "vectors.npy",
        "vector_scales.npy",
        "vector_offsets.npy",
        "token_counts.npy",
    ):
        assert (plain.snapshot / name).read_bytes() == (by_flow.snapshot / name).read_bytes(), name
    for request in ("undo a payment", "what is new", "open a ticket for the broken printer"):
        assert old.route(request, explain=True).tools == new.route(request, explain=True).tools
    assert (plain.asked, plain.embedded, plain.counts) == (by_flow.asked, by_flow.embedded, by_flow.counts)


def test_batches_of_tools_change_nothing_but_the_tasks(catalog: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("QUARTERMASTER_FLOW__BATCH_SIZE", "3")
    state = flow_state(catalog, tmp_path / "flow", encoder="none", evaluate=False)
    report = state.result()
    assert report.asked == {"file": 8} and report.outcome == "published"
    assert {name for name in task_names(state) if name.startswith("enrich")} == {
        "enrich 1–3 of 8",
        "enrich 4–6 of 8",
        "enrich 7–8 of 8",
    }
    whole = build(load(catalog, {"vectors": {"encoder": "none"}}, environment={}), workspace=tmp_path / "plain")
    assert Router.open(whole.snapshot).manifest.content_hash == Router.open(report.snapshot).manifest.content_hash
    again = flow_state(catalog, tmp_path / "flow", encoder="none", evaluate=False).result()
    assert (again.reused, again.outcome) == (8, "unchanged")


def test_a_run_goes_on_without_sources_that_cannot_be_read_and_leaves_word_of_them_and_of_changes(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.json").write_text(json.dumps([{"name": f"send_{number}"}]), encoding="utf-8")
    (folder / "empty.json").write_text("[]", encoding="utf-8")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    failed = flow_state(folder, tmp_path / "ws", encoder="none")
    assert failed.is_failed() and "broken.json is not readable JSON" in failed.message
    state = flow_state(folder, tmp_path / "ws", encoder="none", skip_unreadable=True)
    assert state.name == "Degraded" and state.is_failed() and "broken.json" in state.message
    assert state.result(raise_on_failure=False).outcome == "published"
    left = artifacts(state)
    assert "| sources | 7, 1 skipped, 1 empty |" in left["build-mail"]
    (skipped,) = json.loads(left["skipped-mail"])
    assert skipped["source"] == "broken.json" and "is not readable JSON" in skipped["reason"]
    assert json.loads(left["empty-mail"]) == [{"source": "empty.json", "serving_tools": 0}]
    assert "changes-mail" not in left  # in the first build all tools are new
    (folder / "0.json").write_text('[{"name": "write_0"}]', encoding="utf-8")
    (folder / "1.json").write_text("{", encoding="utf-8")
    left = artifacts(flow_state(folder, tmp_path / "ws", encoder="none", skip_unreadable=True))
    assert "| sources | 7, 1 stale, 1 skipped, 1 empty |" in left["build-mail"]
    assert json.loads(left["changes-mail"]) == [
        {"tool": "0/send_0", "change": "removed"},
        {"tool": "0/write_0", "change": "added"},
    ]
    (stale,) = json.loads(left["stale-mail"])
    assert (stale["source"], stale["tools"]) == ("1.json", 1) and "is not readable JSON" in stale["reason"]


def test_a_run_leaves_what_was_built_what_was_rejected_and_where_the_snapshot_is(catalog: Path, tmp_path: Path) -> None:
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"name": 7}\n')
    state = flow_state(catalog, tmp_path / "ws", encoder="none")
    assert state.name == "Held" and state.is_failed()  # one of nine is more than the stated share
    report = state.result(raise_on_failure=False)
    left = artifacts(state)
    assert "| rejected | 1 |" in left["build-office"] and "11.1% of the records were rejected" in left["build-office"]
    assert "| changes | 8 new, 0 changed, 0 removed: no snapshot served before |" in left["build-office"]
    assert report.snapshot.resolve().as_uri() in left["snapshot-office"]
    assert json.loads(left["rejected-office"]) == [
        {"file": "tools.jsonl", "place": "line 9", "reason": "name is a number, not a text"}
    ]
    assert left["enrich-office"] == 100.0
    (coverage,) = json.loads(left["coverage-office"])
    assert (coverage["source"], coverage["records"], coverage["tools"], coverage["rejected"]) == (
        "tools.jsonl",
        "9",
        "8",
        "1",
    )
    assert coverage["problems"] == "1 of 9 records were rejected: 1 because name is a number, not a text"


def test_a_judged_catalog_is_measured_by_signal_and_slice(catalog: Path, tmp_path: Path) -> None:
    from flows.evaluate import evaluate_catalog

    report = flow_state(catalog, tmp_path / "ws", encoder="none", evaluate=False).result()
    state: Any = evaluate_catalog(str(catalog), str(report.snapshot), return_state=True)
    assert state.result()["signals"]["fused"]["hit@1"] == 1
    rows = {row["signal"]: row for row in json.loads(artifacts(state)["evaluation-office"])}
    assert list(rows) == [
        *("name", "description", "expansion", "dense", "fused", "fused, 95 %", "fused, everyday (1)"),
        *("fused, kind: single (1)", "fused, provider: not named (1)", "fused, length: 1-4 words (1)"),
    ]
    assert rows["dense"]["hit@1"] == "–" and rows["fused, everyday (1)"]["hit@1"] == "1.000"
    assert artifacts(state)["evaluate-office"] == 100.0


def test_a_snapshot_that_cannot_be_measured_serves_all_the_same(catalog: Path, tmp_path: Path) -> None:
    (catalog / "judgements.jsonl").write_text("not json\n", encoding="utf-8")
    state = flow_state(catalog, tmp_path / "ws", encoder="none")
    assert state.name == "Unmeasured" and state.is_failed() and "judgements.jsonl, line 1" in state.message
    served = Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot
    assert served == state.result(raise_on_failure=False).snapshot.name


def test_any_folders_name_is_fit_for_an_artifact(catalog: Path, tmp_path: Path) -> None:
    folder = catalog.rename(tmp_path / "My_Catalog.v2")
    state = flow_state(folder, tmp_path / "ws", encoder="none")
    assert state.name == "Completed" and "build-my-catalog-v2" in artifacts(state)


def test_a_single_file_is_not_measured_on_what_lies_beside_it(catalog: Path, tmp_path: Path) -> None:
    (catalog / "judgements.jsonl").write_text("not json\n", encoding="utf-8")
    assert flow_state(catalog / "tools.jsonl", tmp_path / "ws", encoder="none").name == "Completed"


def test_a_flow_waits_for_another_build_of_the_workspace(catalog: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ws"):
        found: list[str] = []
        waiting = Thread(target=lambda: found.append(flow_state(catalog, tmp_path / "ws", encoder="none").name))
        waiting.start()
        waiting.join(2.0)
        assert waiting.is_alive() and not found
    waiting.join(60)
    assert found == ["Completed"]


def test_a_folder_without_judgements_fails_with_its_sentence(snapshot: Path, tmp_path: Path) -> None:
    from flows.evaluate import evaluate_catalog

    state: Any = evaluate_catalog(str(tmp_path), str(snapshot), return_state=True)
    assert state.is_failed() and state.message == f"{tmp_path} holds neither queries.jsonl nor judgements.jsonl"


def test_a_failed_stage_leaves_the_current_snapshot_serving(catalog: Path, tmp_path: Path) -> None:
    served = flow_state(catalog, tmp_path / "ws", encoder="none").result().snapshot.name
    (catalog / "catalog.toml").write_text('[[source]]\npath = "gone.json"\n', encoding="utf-8")
    state = flow_state(catalog, tmp_path / "ws", encoder="none")
    assert state.is_failed() and state.message == f"the source {catalog / 'gone.json'} does not exist"
    with pytest.raises(RunAborted, match="does not exist"):
        state.result()
    assert Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot == served


@pytest.fixture
def flaky_server() -> Iterator[tuple[str, list[int]]]:
    """An OpenAPI document behind a server that is overloaded at first; its address, and the answers it gave."""
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers.append(503 if len(answers) < 2 else 200)
            body = json.dumps(api({"/a": {"get": {"operationId": "listRooms", "summary": "Rooms."}}})).encode()
            self.send_response(answers[-1])
            self.end_headers()
            self.wfile.write(body if answers[-1] == 200 else b"")

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/openapi.json", answers
        server.shutdown()


def test_a_source_that_did_not_answer_is_read_again(
    flaky_server: tuple[str, list[int]], tmp_path: Path, monkeypatch: Any
) -> None:
    url, answers = flaky_server
    monkeypatch.setenv("QUARTERMASTER_FLOW__RETRY_DELAY_S", "0.01")
    folder = tmp_path / "rooms"
    folder.mkdir()
    (folder / "catalog.toml").write_text(f'[[source]]\nurl = "{url}"\nformat = "openapi"\n', encoding="utf-8")
    report = flow_state(folder, tmp_path / "ws", encoder="none").result()
    assert answers == [503, 503, 200]
    assert Router.open(report.snapshot).tool_id(0).endswith("/listRooms")


def test_a_screen_that_watches_sees_every_stage(catalog: Path, tmp_path: Path) -> None:
    class Screen(SilentProgress):
        stages: tuple[str, ...] = ()

        def start(self, stage: str, total: int | None = None) -> None:
            self.stages += (stage,)

    screen = Screen()
    with shown_on(screen):
        flow_state(catalog, tmp_path / "ws", encoder="none", evaluate=False)
    assert screen.stages == (
        "read",
        "normalize",
        "estimate",
        "enrich",
        "project",
        "prerequisites",
        "index",
        "write",
        "calibrate",
        "verify",
        "evaluate",
        "inspect",
        "publish",
    )


def test_from_the_command_line_a_failed_flow_is_one_sentence(
    catalog: Path, tmp_path: Path, prefect_server: str
) -> None:
    (catalog / "catalog.toml").write_text('[[source]]\npath = "gone.json"\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from flows.cli.main import main; main()", "build", str(catalog), "--flow"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": prefect_server},
    )
    # No traceback, no word of DuckDB about objects that Prefect's threads still hold.
    assert done.stderr.splitlines()[-1] == f"quartermaster: the source {catalog / 'gone.json'} does not exist"
    assert all(line.startswith("20") for line in done.stderr.splitlines()[:-1])  # our own log, stage by stage
    assert (done.returncode, done.stdout) == (3, "")
    # What is kept off the terminal is on the server.
    with get_client(sync_client=True) as client:
        (run,) = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)
        log = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run.id])), limit=100)
    assert run.name == f"build {catalog}" and "read started" in [entry.message for entry in log]


@pytest.mark.parametrize(("name", "exit_code", "state"), [("7", 1, "Held"), ('"gone"', 0, "Degraded")])
def test_the_command_line_prints_the_report_of_a_run_that_is_not_green(
    name: str, exit_code: int, state: str, catalog: Path, tmp_path: Path
) -> None:
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(f'{{"name": {name}}}\n')
    (catalog / "judgements.jsonl").unlink()
    if state == "Degraded":
        sources = "".join(f'[[source]]\npath = "{file}"\n' for file in ("tools.jsonl", "gone.json"))
        text = f"[publish]\nmax_skipped_share = 0.9\n{sources}"
        (catalog / "catalog.toml").write_text(text, encoding="utf-8")
    options = ["--workspace", str(tmp_path / "ws"), "--encoder", "none", "--flow", "--skip-unreadable"]
    done = CliRunner().invoke(app, ["build", str(catalog), *options])
    assert done.exit_code == exit_code, done.output
    assert done.stdout.rstrip().rpartition("/")[2] in done.stdout and "changes" in done.stdout
    with get_client(sync_client=True) as client:
        (run,) = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)
    assert run.state is not None and (run.state.name, run.state.type.value) == (state, "FAILED")
    assert run.run_count == 1  # and is not tried again
