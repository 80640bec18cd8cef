"""Batches on the worker processes of a Dask cluster: their order, their errors, and workers that are killed."""

import errno
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.config
import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from flows.engine.tasks import TaskExecution
from pipeline.build import build
from pipeline.errors import RunAborted, WorkersLost
from pipeline.progress import SilentProgress
from pipeline.settings import FlowSettings, load
from quartermaster.cli.main import app
from tests.flows.server import at_stage, behind_a_door
from tests.support.places import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("prefect_server"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cluster(prefect_server: str) -> Iterator[Any]:
    """Two worker processes, each restarted when it is killed."""

    environment = {"PYTHONPATH": str(ROOT)}
    local: Any = LocalCluster  # it has no types
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        local(2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, env=environment) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def execution(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskExecution]:
    """An execution whose workers are the cluster's."""
    settings = FlowSettings(runner="dask", dask_address=cluster.scheduler_address)
    with TaskExecution.started(settings, SilentProgress(), tmp_path_factory.mktemp("ws")) as execution:
        yield execution


def labelled(*batches: Any) -> Iterator[tuple[str, Any]]:
    return ((f"batch {place}", batch) for place, batch in enumerate(batches))


def killed_once(batch: int, folder: Path) -> int:
    mark = folder / "killed"
    if batch == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def test_the_batch_of_a_killed_worker_is_done_again(execution: TaskExecution, tmp_path: Path) -> None:
    done = list(execution.map("count", killed_once, labelled(0, 1, 2), tmp_path))
    assert (tmp_path / "killed").exists() and sorted(result for _, result in done) == [0, 1, 2]


def kills(batch: int) -> int:
    if batch == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def test_a_batch_that_kills_its_workers_stops_the_build_and_is_named(execution: TaskExecution) -> None:
    with pytest.raises(WorkersLost, match="the stage 'count batch 1' ended 2 workers, one after the other"):
        list(execution.map("count", kills, labelled(0, 1, 2)))
    assert [result for _, result in execution.map("count", kills, labelled(0))] == [0]  # the cluster goes on


def fills(batch: int) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_worker_whose_storage_is_full_names_the_setting(execution: TaskExecution) -> None:
    with pytest.raises(RunAborted, match=r"'count batch 0' could not use flow\.storage, .*: No space left on device"):
        list(execution.map("count", fills, labelled(0)))


def test_a_build_on_workers_whose_server_is_lost_publishes_the_plain_snapshot(
    cluster: Any,
    prefect_server: str,
    catalog_folder: Path,
    encoder_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = load(catalog_folder, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    plain = build(settings, workspace=tmp_path / "plain")
    monkeypatch.setenv("QUARTERMASTER_FLOW__RUNNER", "dask")
    monkeypatch.setenv("QUARTERMASTER_FLOW__DASK_ADDRESS", cluster.scheduler_address)
    options = ["--workspace", str(tmp_path / "ws"), "--encoder", str(encoder_folder), "--flow", "--json"]
    with behind_a_door(prefect_server, monkeypatch) as proxy:
        at_stage("project", lambda: proxy.switch("gone"), monkeypatch)
        done = CliRunner().invoke(app, ["build", str(catalog_folder), *options])
    assert done.exit_code == 0, done.output
    built = Path(json.loads(done.stdout)["snapshot"])
    for name in ("records.jsonl", "vectors.npy", "expansion/meta.json"):
        assert (built / name).read_bytes() == (plain.snapshot / name).read_bytes(), name
    assert not list((tmp_path / "ws" / "workers" / "builds").iterdir())


def test_a_scheduler_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    settings = FlowSettings(runner="dask", dask_address="tcp://127.0.0.1:1")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(WorkersLost, match=r"the Dask scheduler tcp://127\.0\.0\.1:1 does not answer"),
        TaskExecution.started(settings, SilentProgress(), tmp_path),
    ):
        pass
