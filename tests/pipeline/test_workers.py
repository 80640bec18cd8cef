"""Batches on threads and on the worker processes of a Dask cluster: their order, errors, and killed workers."""

import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, SettingsInvalid, WorkersLost
from pipeline.settings import FlowSettings
from pipeline.workers import Workers, _build_folder, _probe, start_workers
from tests.support.places import ROOT


def labelled(*batches: Any) -> Iterator[tuple[str, Any]]:
    return ((f"batch {place}", batch) for place, batch in enumerate(batches))


def test_batches_run_on_several_threads_with_what_they_share_and_after_an_error_no_other_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, heard = threading.Barrier(2, timeout=30), threading.Event()
    begun: list[int] = []

    def double(batch: int, factor: int) -> int:
        together.wait()  # two at once
        return batch * factor

    def refuses(batch: int) -> int:
        begun.append(batch)
        if batch == 0:
            raise RunAborted("the batch is wrong")
        assert heard.wait(30)
        return batch

    def hear(_: Workers, error: Exception, batch: str) -> Exception:
        heard.set()
        return error

    monkeypatch.setattr(Workers, "_failure", hear)
    with start_workers(FlowSettings(runner="threads", workers=2), tmp_path) as workers:
        assert workers is not None and workers.storage is None
        assert sorted(workers.map("count", double, labelled(*range(4)), (10,))) == [(n, n * 10) for n in range(4)]
        with pytest.raises(RunAborted, match=r"^the batch is wrong$"):
            list(workers.map("count", refuses, labelled(*range(50)), ()))
    assert len(begun) <= 4  # two for each thread, until it is heard of


def test_what_a_killed_build_left_goes_after_a_week_and_what_a_live_one_has_does_not(tmp_path: Path) -> None:
    left = tmp_path / "builds" / "left"
    left.mkdir(parents=True)
    old = time.time() - 8 * 86_400
    os.utime(left, (old, old))
    with _build_folder(tmp_path) as first, _build_folder(tmp_path) as second:
        assert {*(tmp_path / "builds").iterdir()} == {first, second}
    assert not list((tmp_path / "builds").iterdir())


def test_a_worker_that_does_not_see_the_storage_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"^flow.storage: the worker on .* cannot read .*/probe: name a folder"):
        _probe(tmp_path / "probe")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Two worker processes of a cluster that runs already, each restarted when it is killed."""
    import dask.config
    from distributed import LocalCluster

    local: Any = LocalCluster  # it has no types
    environment = {"PYTHONPATH": str(ROOT)}
    of_scheduler = {"distributed.scheduler.allowed-failures": 1, "distributed.scheduler.worker-saturation": 1.0}
    with (
        dask.config.set(of_scheduler),
        local(2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, env=environment) as own,
        start_workers(
            FlowSettings(runner="dask", dask_address=own.scheduler_address), tmp_path_factory.mktemp("ws")
        ) as workers,
    ):
        assert workers is not None
        yield workers


@pytest.mark.nightly
def test_the_batch_of_a_killed_worker_is_done_again_with_what_batches_share(workers: Workers, tmp_path: Path) -> None:
    done = list(workers.map("count", _killed_once, labelled(0, 1, 2), (tmp_path,)))
    assert (tmp_path / "killed").exists() and sorted(result for _, result in done) == [0, 1, 2]


@pytest.mark.nightly
def test_a_batch_that_kills_its_workers_stops_the_build_and_is_named(workers: Workers) -> None:
    with pytest.raises(WorkersLost, match="the stage 'count batch 1' ended 2 workers, one after the other"):
        list(workers.map("count", _kills, labelled(0, 1, 2), ()))
    assert [result for _, result in workers.map("count", _kills, labelled(0), ())] == [0]  # the cluster goes on


@pytest.mark.nightly
def test_a_worker_whose_storage_is_full_names_the_setting(workers: Workers) -> None:
    with pytest.raises(RunAborted, match=r"'count batch 0' could not use flow\.storage, .*: No space left on device"):
        list(workers.map("count", _fills, labelled(0), ()))


@pytest.mark.nightly
def test_a_scheduler_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    import dask.config

    settings = FlowSettings(runner="dask", dask_address="tcp://127.0.0.1:1")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(WorkersLost, match=r"the Dask scheduler tcp://127\.0\.0\.1:1 does not answer"),
        start_workers(settings, tmp_path),
    ):
        pass


def _killed_once(batch: int, folder: Path) -> int:
    mark = folder / "killed"
    if batch == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def _kills(batch: int) -> int:
    if batch == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def _fills(batch: int) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
