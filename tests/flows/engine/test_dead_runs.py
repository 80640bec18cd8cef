"""Flow runs whose process was killed: found by their lock, and closed on the server with their tasks."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import flow, task
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed, Running

from flows.engine.dead_runs import close_crashed_run, close_dead_runs
from flows.engine.open_runs import OpenRun, abandoned_runs
from tests.flows.server import ask, state_of, tasks_of
from tests.support.places import ROOT

pytestmark = [pytest.mark.usefixtures("prefect_server"), pytest.mark.timeout(180)]  # a busy machine starts it slowly


def left_behind(workspace: Path, final: State[Any] | None = None) -> UUID:
    """A run with a task, both "Running" on the server, whose process seems gone."""

    @task
    def part() -> None:
        return

    @flow
    def whole() -> None:
        return

    with ask() as client:
        created = client.create_flow_run(whole, state=Running())
        client.create_task_run(part, created.id, dynamic_key="0", state=Running())
        opened = OpenRun.begin(workspace, created.id, client.read_flow_run(created.id).run_count)
    if final:
        opened.end(final)
    opened.release()
    return created.id


@pytest.mark.nightly
def test_a_run_that_is_killed_is_closed_with_its_tasks(prefect_server: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/openapi.json"
        (tmp_path / "catalog.toml").write_text(f'[[source]]\nurl = "{url}"\nformat = "openapi"\n', encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "quartermaster", "build", str(tmp_path), "--flow", "--encoder", "none"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": prefect_server},
            stderr=subprocess.DEVNULL,
        )
        connection, _ = silent.accept()  # the build reads its source, and waits
        with connection:
            workspace = tmp_path / ".quartermaster"
            (file,) = (workspace / "flow_runs").glob("*.json")
            run = UUID(file.stem)
            assert [one.state_name for one in tasks_of(run)] == ["Running"]
            close_dead_runs(workspace)
            assert state_of(run).name == "Running"  # it lives
            process.kill()
            process.wait()
    close_dead_runs(workspace)
    state = state_of(run)
    assert state.is_crashed() and f"process {process.pid} on {socket.gethostname()}" in (state.message or "")
    assert [one.state_name for one in tasks_of(run)] == ["Crashed"]
    assert not file.exists()


@pytest.mark.parametrize("final", [Completed(message="published"), Failed(name="Held", message="a gate")])
def test_a_run_that_ended_untold_gets_the_state_that_it_ended_in(final: State[Any], tmp_path: Path) -> None:
    run = left_behind(tmp_path, final)
    close_dead_runs(tmp_path)
    state = state_of(run)
    assert (state.type, state.name, state.message) == (final.type, final.name, final.message)
    assert [one.state_name for one in tasks_of(run)] == ["Crashed"]


def test_a_run_that_lives_and_one_that_was_started_again_are_left_alone(tmp_path: Path) -> None:
    lives = OpenRun.begin(tmp_path, uuid4(), 1)
    assert not list(abandoned_runs(tmp_path))
    lives.forget()
    run = left_behind(tmp_path)
    (file,) = (tmp_path / "flow_runs").iterdir()
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, "attempt": content["attempt"] + 7}), encoding="utf-8")
    close_dead_runs(tmp_path)
    assert state_of(run).name == "Running"


def test_a_run_of_another_server_is_left_to_it_for_a_month_and_a_file_that_was_cut_off_is_deleted(
    tmp_path: Path,
) -> None:
    OpenRun.begin(tmp_path, uuid4(), 1).release()
    close_dead_runs(tmp_path)
    (file,) = (tmp_path / "flow_runs").iterdir()
    old = time.time() - 40 * 86_400
    os.utime(file, (old, old))
    close_dead_runs(tmp_path)
    assert not file.exists()
    OpenRun.begin(tmp_path, uuid4(), 1).release()
    (file,) = (tmp_path / "flow_runs").iterdir()
    file.write_text('{"run": "', encoding="utf-8")
    assert not list(abandoned_runs(tmp_path)) and not file.exists()


def test_the_tasks_of_a_run_that_its_runner_found_dead_are_closed(tmp_path: Path) -> None:
    run = left_behind(tmp_path)
    with ask() as client:
        found = client.read_flow_run(run)
        assert found.state is not None
        close_crashed_run(None, found, found.state)
    assert [one.state_name for one in tasks_of(run)] == ["Crashed"]
