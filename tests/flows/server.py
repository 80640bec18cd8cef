"""The Prefect server of the tests: what it knows of a run."""

from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import FlowRun, Log, TaskRun
from prefect.client.schemas.sorting import FlowRunSort

from tests.support.waiting import until


def ask() -> SyncPrefectClient:
    """A client of the server."""
    return get_client(sync_client=True)


def last_run() -> FlowRun:
    """The newest flow run."""
    with ask() as client:
        return client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)[0]


def tasks_of(run: UUID, *wanted: str) -> list[TaskRun]:
    """The tasks of a run, as soon as the server has those wanted, or any: they are reported as events, in any order."""
    found: list[TaskRun] = []

    def arrived() -> bool:
        with ask() as client:
            found[:] = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run])))
        return bool(found) and {*wanted} <= {task.name for task in found}

    until(arrived)
    return found


def logs_of(run: UUID, wanted: str) -> list[Log]:
    """The log of a run, as soon as the server has a line that begins so: they are sent in batches."""
    found: list[Log] = []

    def arrived() -> bool:
        with ask() as client:
            found[:] = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run])), limit=200)
        return any(log.message.startswith(wanted) for log in found)

    assert until(arrived), [log.message for log in found]
    return found


def artifacts_of(run: UUID) -> dict[str | None, Any]:
    """What a run left, by key."""
    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run]))
    with ask() as client:
        return {artifact.key: artifact.data for artifact in client.read_artifacts(artifact_filter=wanted, sort=None)}
