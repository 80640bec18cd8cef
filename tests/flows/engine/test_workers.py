"""Batches on the worker processes of a Dask cluster: their order, their errors, and workers that are killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster
from prefect import flow

from flows.engine.progress import FlowProgress
from flows.engine.runners import runner_of
from flows.engine.storage import build_folder, probe, share
from flows.engine.tasks import TaskExecution
from flows.engine.workers import Workers
from pipeline.build import build
from pipeline.errors import RunAborted, SettingsInvalid, WorkersLost
from pipeline.progress import SilentProgress
from pipeline.settings import FlowSettings, load
from tests.support.places import ROOT

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture(scope="module")
def cluster(prefect_server: str) -> Iterator[LocalCluster]:
    """Two worker processes, each restarted when it is killed."""
    import dask.config

    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with LocalCluster(
            2, threads_per_worker=1, dashboard_address=None, silence_logs=50, env={"PYTHONPATH": str(ROOT)}
        ) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def execution(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskExecution]:
    """An execution whose workers are the cluster's."""
    settings = FlowSettings(runner="dask", dask_address=cluster.scheduler_address)
    with TaskExecution.started(settings, SilentProgress(), tmp_path_factory.mktemp("ws")) as execution:
        yield execution


def labelled(*batches: Any) -> Iterator[tuple[str, Any]]:
    return ((f"batch {place}", batch) for place, batch in enumerate(batches))


def where(batch: int, offset: int, large: bytes) -> tuple[int, int, int]:
    return os.getpid(), batch + offset, len(large)


def test_batches_run_in_several_processes_and_get_what_they_share(execution: TaskExecution) -> None:
    done = list(execution.map("count", where, labelled(*range(8)), 10, b"x" * 100_000))
    assert sorted((batch, result, size) for batch, (_, result, size) in done) == [(n, n + 10, 100_000) for n in range(8)]
    assert 0 < len({pid for _, (pid, _, _) in done} - {os.getpid()}) <= 2
    assert execution.storage is not None
    assert len(list(execution.storage.of_build.glob("*.pickle"))) == 1  # once, not with each batch


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


def refuses(batch: int, folder: Path) -> int:
    (folder / str(batch)).touch()
    if batch == 0:
        raise RunAborted("the batch is wrong")
    return batch


def test_after_an_error_no_other_batch_begins(execution: TaskExecution, tmp_path: Path) -> None:
    with pytest.raises(RunAborted, match="^the batch is wrong$"):
        list(execution.map("count", refuses, labelled(*range(50)), tmp_path))
    assert len(list(tmp_path.iterdir())) < 10
