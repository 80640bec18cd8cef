"""Two processes that serve one deployment, and runs that nobody served, on a real server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron
from prefect.settings import PREFECT_RUNNER_POLL_FREQUENCY, temporary_settings

from flows.build_catalog import build_catalog
from flows.serving import look_around
from tests.flows.server import ask
from tests.support.waiting import until

_TWO_NIGHTS = timedelta(days=2)


@pytest.fixture
def deployment(prefect_server: str, request: pytest.FixtureRequest) -> UUID:
    """The id of a deployment of this test's name, which no process serves."""
    made = build_catalog.to_deployment(
        request.node.name,
        schedule=Cron("0 2 * * *", timezone="UTC"),
        parameters={"path": "office"},
        description="By process 7 on build-1.",
    )
    assert isinstance(made, RunnerDeployment)
    found = made.apply()
    assert isinstance(found, UUID)
    return found


@contextmanager
def polled(deployment: UUID) -> Iterator[None]:
    """Ask for the runs of a deployment inside the `with` block, as a process that serves it does."""
    ended = threading.Event()

    def poll() -> None:
        with ask() as client:
            while not ended.wait(0.4):
                body = {"deployment_ids": [str(deployment)]}
                client.request("POST", "/deployments/get_scheduled_flow_runs", json=body)

    def is_noticed() -> bool:
        with ask() as client:
            answer = client.request("GET", "/deployments/{id}", path_params={"id": deployment})
        return answer.json()["last_polled"] is not None

    thread = threading.Thread(target=copy_context().run, args=(poll,))
    thread.start()
    try:
        assert until(is_noticed, 30)
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.nightly
def test_another_process_is_told_of_by_its_name_while_it_goes_on_asking(
    deployment: UUID, request: pytest.FixtureRequest
) -> None:
    name, told = f"build-catalog/{request.node.name}", list[str]()
    look_around("build-catalog/nobody", told.append)
    look_around(name, told.append)
    assert told == []
    with temporary_settings({PREFECT_RUNNER_POLL_FREQUENCY: 60}), polled(deployment):
        look_around(name, told.append)
    with temporary_settings({PREFECT_RUNNER_POLL_FREQUENCY: 1}):
        look_around(name, told.append)  # it asked a moment ago, and has ended
    assert [f"another process serves {name}" in one and "By process 7 on build-1." in one for one in told] == [True]


@pytest.mark.nightly
def test_runs_that_nobody_served_are_removed_and_told_but_no_later_run_and_none_that_was_asked_for(
    deployment: UUID, request: pytest.FixtureRequest
) -> None:
    name, told, now = f"build-catalog/{request.node.name}", list[str](), datetime.now(UTC)
    wanted = run_deployment(name, timeout=0, as_subflow=False)
    assert isinstance(wanted, FlowRun)
    with ask() as client:
        times = {"start_time": (now - _TWO_NIGHTS).isoformat(), "end_time": (now + _TWO_NIGHTS).isoformat()}
        client.request("POST", "/deployments/{id}/schedule", path_params={"id": deployment}, json=times)
        before = {run.id: run for run in client.read_flow_runs() if run.deployment_id == deployment}
        look_around(name, told.append)
        after = {run.id for run in client.read_flow_runs() if run.deployment_id == deployment}
    late = [run for run in before.values() if run.expected_start_time and run.expected_start_time < now]
    missed = {run.id for run in late if run.auto_scheduled}
    assert (len(missed), after) == (2, set(before) - missed) and {wanted.id} < after
    assert told == [f"2 of its runs were missed while no process served {name}: they are not made up for"]
