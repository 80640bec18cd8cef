"""The build as a flow: the same snapshot, its artifacts, its states."""

import json
import logging
import os
import shutil
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.build_catalog import build_catalog, evaluate_catalog
from flows.runtime import shown_on
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from quartermaster.cli.main import app
from router import Router
from tests.flows.server import artifacts_of, last_run, logs_of, tasks_of
from tests.support.places import ROOT

pytestmark = pytest.mark.usefixtures("prefect_server")


def judged_catalog(catalog_folder: Path, folder: Path) -> Path:
    """A copy of the session's catalog with a judged request."""
    shutil.copytree(catalog_folder, folder)
    judged: dict[str, Any] = {"id": "1", "query": "undo a payment", "kind": "single", "slice": "everyday"}
    judged |= {"required": ["stripe/create_refund"], "acceptable": ["stripe/create_refund"]}
    (folder / "judgements.jsonl").write_text(json.dumps(judged) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def catalog(catalog_folder: Path, tmp_path: Path) -> Path:
    """A judged catalog, to be changed."""
    return judged_catalog(catalog_folder, tmp_path / "office")


def flow_state(path: Path, workspace: Path, **parameters: Any) -> Any:
    """The final state of a run of the flow, without vectors unless it says otherwise."""
    return build_catalog(str(path), str(workspace), **{"encoder": "none", **parameters}, return_state=True)


@pytest.fixture(scope="module")
def flown(
    catalog_folder: Path, encoder_folder: Path, workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, list[str]]:
    """The state of a flow over the judged catalog in batches of three, and the stages that its screen was told.

    Its workspace has the session's ledger: nothing is left to embed.
    """
    place = tmp_path_factory.mktemp("flow")
    folder = judged_catalog(catalog_folder, place / "My_Catalog.v2")
    shutil.copytree(workspace, place / "ws")
    screen, stages = SilentProgress(), list[str]()
    with pytest.MonkeyPatch.context() as patch, shown_on(screen):
        patch.setattr(screen, "start", lambda stage, total=None: stages.append(stage))
        patch.setenv("QUARTERMASTER_FLOW__BATCH_SIZE", "3")
        patch.setenv("QUARTERMASTER_VECTORS__PRECISION", "fp32")  # as the workspace
        return flow_state(folder, place / "ws", encoder=str(encoder_folder)), stages


def test_a_flow_publishes_the_snapshot_that_the_plain_build_publishes(
    flown: tuple[Any, list[str]], snapshot: Path
) -> None:
    report = flown[0].result()
    assert isinstance(report, BuildReport) and flown[0].name == "Completed" and report.outcome == "published"
    old, new = Router.open(snapshot), Router.open(report.snapshot)
    # Tantivy names its files at random, and the database holds times; what is served from the rest is byte for byte.
    for name in ("records.jsonl", "vectors.npy", "vector_scales.npy", "vector_offsets.npy", "token_counts.npy"):
        assert (snapshot / name).read_bytes() == (report.snapshot / name).read_bytes(), name
    for request in ("undo a payment", "what is new", "open a ticket for the broken printer"):
        assert old.route(request, explain=True).tools == new.route(request, explain=True).tools


def test_each_batch_is_a_task_the_screen_sees_every_stage_and_what_was_built_is_left_under_the_catalogs_name(
    flown: tuple[Any, list[str]],
) -> None:
    state, stages = flown
    run = state.state_details.flow_run_id
    batches = {"enrich 1–3 of 8", "enrich 4–6 of 8", "enrich 7–8 of 8"}
    names = {task.name for task in tasks_of(run, "publish", *batches)}
    assert {name for name in names if name.startswith("enrich")} == batches
    wanted = "read normalize estimate enrich index write calibrate verify inspect publish".split()
    assert [stage for stage in stages if stage in wanted] == wanted
    left = artifacts_of(run)
    assert "| state | **published** |" in left["build-my-catalog-v2"]
    assert state.result().snapshot.resolve().as_uri() in left["snapshot-my-catalog-v2"]
    assert last_run().name.startswith("evaluate ") and "evaluation-my-catalog-v2" in artifacts_of(last_run().id)


def test_a_judged_catalog_is_measured_by_signal_and_slice(catalog: Path, snapshot: Path) -> None:
    state: Any = evaluate_catalog(str(catalog), str(snapshot), return_state=True)
    assert state.result()["signals"]["fused"]["hit@1"] == 1
    left = artifacts_of(state.state_details.flow_run_id)
    rows = {row["signal"]: row for row in json.loads(left["evaluation-office"])}
    assert list(rows) == [
        *("name", "description", "expansion", "dense", "fused", "fused, 95 %", "fused, everyday (1)"),
        *("fused, kind: single (1)", "fused, provider: not named (1)", "fused, length: 1-4 words (1)"),
    ]
    assert rows["fused, everyday (1)"]["hit@1"] == "1.000"
    (catalog / "judgements.jsonl").unlink()
    state = evaluate_catalog(str(catalog), str(snapshot), return_state=True)
    assert state.is_failed() and state.message == f"{catalog} holds neither queries.jsonl nor judgements.jsonl"


def test_a_failed_stage_leaves_the_current_snapshot_serving(catalog: Path, workspace: Path, tmp_path: Path) -> None:
    shutil.copytree(workspace, tmp_path / "ws")
    served = Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot
    (catalog / "catalog.toml").write_text('[[source]]\npath = "gone.json"\n', encoding="utf-8")
    state = flow_state(catalog, tmp_path / "ws")
    assert state.is_failed() and state.message == f"the source {catalog / 'gone.json'} does not exist"
    with pytest.raises(RunAborted, match="does not exist"):
        state.result()
    assert Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot == served


@pytest.mark.parametrize(
    ("name", "exit_code", "state"),
    [("7", 1, "Held"), pytest.param('"gone"', 0, "Degraded", marks=pytest.mark.nightly)],
)
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
    run = last_run()
    assert run.state is not None and (run.state.name, run.state.type.value) == (state, "FAILED")
    assert run.run_count == 1  # and is not tried again
    assert f"| rejected | {int(state == 'Held')} |" in artifacts_of(run.id)["build-office"]


@pytest.mark.nightly
def test_a_build_on_a_worker_of_this_machine_publishes_the_plain_snapshot(
    catalog_folder: Path, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("RUNNER", "dask"), ("WORKERS", "1"), ("BATCH_SIZE", "4")):
        monkeypatch.setenv(f"QUARTERMASTER_FLOW__{name}", value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    options = ["--workspace", str(tmp_path / "ws"), "--encoder", "none", "--flow", "--json"]
    done = CliRunner().invoke(app, ["build", str(catalog_folder), *options])
    assert done.exit_code == 0, done.output
    assert (Path(json.loads(done.stdout)["snapshot"]) / "records.jsonl").read_bytes() == (
        snapshot / "records.jsonl"
    ).read_bytes()
    assert not list((tmp_path / "ws" / "workers" / "builds").iterdir())
    # Dask sets a level of its own when it is imported: a lost scheduler would print tracebacks on the terminal.
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)


@pytest.mark.nightly
def test_a_snapshot_that_cannot_be_measured_serves_all_the_same(catalog: Path, tmp_path: Path) -> None:
    (catalog / "judgements.jsonl").write_text("not json\n", encoding="utf-8")
    state = flow_state(catalog, tmp_path / "ws")
    assert state.name == "Unmeasured" and state.is_failed() and "judgements.jsonl, line 1" in state.message
    served = Router.open(tmp_path / "ws" / "snapshots" / "office").manifest.snapshot
    assert served == state.result(raise_on_failure=False).snapshot.name
    # A single file is not measured on what lies beside it.
    assert flow_state(catalog / "tools.jsonl", tmp_path / "other").name == "Completed"


@pytest.mark.nightly
def test_a_flow_waits_for_another_build_of_the_workspace(catalog: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ws"):
        found: list[str] = []
        run = copy_context().run, lambda: found.append(flow_state(catalog, tmp_path / "ws").name)
        waiting = Thread(target=run[0], args=run[1:])
        waiting.start()
        waiting.join(2.0)
        assert waiting.is_alive() and not found
    waiting.join(60)
    assert found == ["Completed"]


@pytest.mark.nightly
def test_as_a_process_a_failed_flow_is_one_sentence(catalog: Path, tmp_path: Path, prefect_server: str) -> None:
    (catalog / "catalog.toml").write_text('[[source]]\npath = "gone.json"\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from quartermaster.cli.main import main; main()", "build", str(catalog), "--flow"],
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
    run = last_run()
    assert run.name == f"build {catalog}" and logs_of(run.id, "read started")
