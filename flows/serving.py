"""What a Prefect server knows of a deployment before a process serves it: another that does, or missed runs."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_RUNNER_POLL_FREQUENCY

_POLLED_S = 60  # Prefect calls a deployment ready for so long after a process asked for its runs
_MARGIN_S = 3


def look_around(deployment: str, tell: Callable[[str], None]) -> None:
    """Tell where another process serves a deployment; else remove the runs that were missed while none did.

    `deployment` is its name with that of its flow. Where another process may have stopped just now, this waits until
    it would have asked for runs again.
    """
    with get_client(sync_client=True) as client:
        try:
            found = client.read_deployment_by_name(deployment)
        except ObjectNotFound:
            return
        if _is_served(client, found):
            tell(
                f"another process serves {deployment} on this Prefect server: {found.description} From now on the "
                "schedule and the options of this one hold, and either may build. Stop one of them: the other goes on"
            )
        elif missed := _remove_missed(client, str(found.id)):
            tell(f"{missed} of its runs were missed while no process served {deployment}: they are not made up for")


def _is_served(client: SyncPrefectClient, found: DeploymentResponse) -> bool:
    """Return whether a process goes on asking for a deployment's runs."""
    first, end = found.last_polled, time.monotonic() + PREFECT_RUNNER_POLL_FREQUENCY.value() + _MARGIN_S
    if first is None or (datetime.now(UTC) - first).total_seconds() > _POLLED_S:
        return False
    while not (goes_on := client.read_deployment(found.id).last_polled != first) and time.monotonic() < end:
        time.sleep(1)
    return goes_on


def _remove_missed(client: SyncPrefectClient, deployment: str) -> int:
    """Remove the runs of a schedule whose time has passed, and return how many they were."""
    late = {"state": {"type": {"any_": ["SCHEDULED"]}}, "expected_start_time": {"before_": str(datetime.now(UTC))}}
    query, removed = {"deployments": {"id": {"any_": [deployment]}}, "flow_runs": late}, 0
    while True:  # the server answers with some at a time
        found = client.request("POST", "/flow_runs/filter", json=query).json()
        missed = [run["id"] for run in found if run["auto_scheduled"]]
        for run in missed:
            client.request("DELETE", "/flow_runs/{id}", path_params={"id": run})
        if not missed:
            return removed
        removed += len(missed)
