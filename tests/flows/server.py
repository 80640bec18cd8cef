"""The Prefect server of the tests: what it knows of a run, and how a build loses it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import FlowRun, Log, State, TaskRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.settings import (
    PREFECT_API_REQUEST_TIMEOUT,
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    temporary_settings,
)

from flows.engine.progress import FlowProgress
from flows.engine.reporting import drop_events
from tests.support.proxy import Proxy, proxied
from tests.support.waiting import until


def ask() -> SyncPrefectClient:
    """A client of the server."""
    return get_client(sync_client=True)


def last_run() -> FlowRun:
    """The newest flow run."""
    with ask() as client:
        return client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)[0]


def state_of(run: UUID) -> State[Any]:
    """The state of a run."""
    with ask() as client:
        state = client.read_flow_run(run).state
    assert state is not None
    return state


def tasks_of(run: UUID, wanted: str = "") -> list[TaskRun]:
    """The tasks of a run, as soon as the server has the wanted one, or any: they are reported as events."""
    found: list[TaskRun] = []

    def arrived() -> bool:
        with ask() as client:
            found[:] = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run])))
        return any(wanted in (task.name, "") for task in found)

    until(arrived, 30)
    return found


def logs_of(run: UUID, wanted: str) -> list[Log]:
    """The log of a run, as soon as the server has a line that begins so: they are sent in batches."""
    found: list[Log] = []

    def arrived() -> bool:
        with ask() as client:
            found[:] = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run])), limit=200)
        return any(log.message.startswith(wanted) for log in found)

    assert until(arrived, 30), [log.message for log in found]
    return found


def artifacts_of(run: UUID) -> dict[str | None, Any]:
    """What a run left, by key."""
    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run]))
    with ask() as client:
        return {artifact.key: artifact.data for artifact in client.read_artifacts(artifact_filter=wanted, sort=None)}


@contextmanager
def behind_a_door(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Put a door before the server at an address. Prefect and a build wait for it as shortly as they can."""
    monkeypatch.setenv("QUARTERMASTER_FLOW__SERVER_WAIT_S", "0")
    port = urlsplit(server).port
    assert port
    # By default Prefect tries again for a minute, also when this process ends.
    quick = {PREFECT_API_REQUEST_TIMEOUT: 1.0, PREFECT_CLIENT_MAX_RETRIES: 1}
    with (
        proxied(port) as proxy,
        temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{proxy.port}/api", **quick}),
    ):
        yield proxy
        proxy.switch("open")
        drop_events()


def at_stage(stage: str, happen: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something happen once, when a build comes to a stage."""
    started = FlowProgress.start
    waiting = [happen]

    def start(self: FlowProgress, name: str, total: int | None = None) -> None:
        if name == stage and waiting:
            waiting.pop()()
        started(self, name, total)

    monkeypatch.setattr(FlowProgress, "start", start)
