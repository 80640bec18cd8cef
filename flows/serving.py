"""What a deployment of the same name does on a Prefect server already: another process serves it, or nobody did."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_RUNNER_POLL_FREQUENCY

_POLLED_S = 60  # Prefect calls a deployment ready for so long after a process asked for its runs
_MARGIN_S = 3


def look_around(deployment: str, tell: Callable[[str], None]) -> None:
    """Tell where another process serves a deployment; else remove the runs that were missed while nobody did.

    `deployment` is its name with that of its flow. Where another process may have stopped just now, this waits until
    it would have asked for runs again.
    """
    with get_client(sync_client=True) as client:
        try:
            found = client.read_deployment_by_name(deployment)
        except ObjectNotFound:
            return
        if _is_served(client, found.id):
            tell(
                f"another process serves {deployment} on this Prefect server: {found.description} From now on the "
                "schedule and the options of this one hold, and either may build. Stop one of them: the other goes on"
            )
        elif missed := _remove_missed(client, found.id):
            tell(f"{missed} of its runs were missed while no process served {deployment}: they are not made up for")


def _is_served(client: SyncPrefectClient, deployment: UUID) -> bool:
    """Return whether a process goes on asking for a deployment's runs."""
    first = _last_polled(client, deployment)
    if first is None or (datetime.now(UTC) - first).total_seconds() > _POLLED_S:
        return False
    end = time.monotonic() + PREFECT_RUNNER_POLL_FREQUENCY.value() + _MARGIN_S
    while (again := _last_polled(client, deployment)) == first and time.monotonic() < end:
        time.sleep(1)
    return again != first


def _last_polled(client: SyncPrefectClient, deployment: UUID) -> datetime | None:
    # The client's own type of a deployment leaves the field out.
    answer: dict[str, Any] = client.request("GET", "/deployments/{id}", path_params={"id": deployment}).json()
    polled = answer.get("last_polled")
    return None if polled is None else datetime.fromisoformat(polled)


def _remove_missed(client: SyncPrefectClient, deployment: UUID) -> int:
    """Remove the runs of a schedule whose time has passed, and return how many they were."""
    late = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=datetime.now(UTC)),
    )
    of_it = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
    removed = 0
    while True:  # the server answers with some at a time
        found = client.read_flow_runs(deployment_filter=of_it, flow_run_filter=late)
        missed = [run.id for run in found if run.auto_scheduled]
        if not missed:
            return removed
        for run in missed:
            client.delete_flow_run(run)
        removed += len(missed)
