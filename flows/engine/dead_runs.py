"""Closes on the Prefect server what a killed process left running there."""

import logging
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterParentFlowRunId,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed

from flows.engine.open_runs import OpenRun, abandoned_runs
from flows.engine.reporting import SERVER_ERRORS, describe
from pipeline.errors import SettingsInvalid

_logger = logging.getLogger("flows")
_OURS: dict[UUID, OpenRun] = {}  # of this process
_UNKNOWN_S = 30 * 86_400.0  # a run that the server does not know may be another server's
_UNTOLD = "the Prefect server was not told how it ended"
_LIVE = (StateType.RUNNING, StateType.CANCELLING)
_OPEN_TASKS = (StateType.RUNNING, StateType.PENDING, StateType.SCHEDULED)


def open_this_run(workspace: Path) -> OpenRun:
    """Note in the workspace that the current flow run has begun. Raises SettingsInvalid where it cannot be written."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("there is no flow run to note: call it inside a flow")
    run = context.flow_run
    try:
        _OURS[run.id] = OpenRun.begin(workspace, run.id, run.run_count)
    except OSError as error:
        raise SettingsInvalid(
            f"the workspace {workspace} cannot be written ({error.strerror}): choose another with --workspace"
        ) from error
    return _OURS[run.id]


def close_dead_runs(workspace: Path) -> None:
    """Close the runs of a workspace whose process is gone, each with its tasks. Live runs are left alone.

    A run that ended gets the state that it ended in; any other becomes Crashed. A server that does not answer is no
    error: the next run tries again.
    """
    for run in abandoned_runs(workspace):
        try:
            with get_client(sync_client=True) as client:
                _close(client, run)
        except SERVER_ERRORS as error:
            run.release()
            _logger.warning("the Prefect server was not told of a run that was killed (%s)", describe(error))
            return


def _close(client: SyncPrefectClient, run: OpenRun) -> None:
    try:
        found = client.read_flow_run(run.run_id)
    except ObjectNotFound:
        if run.age_s > _UNKNOWN_S:
            run.forget()
        else:
            run.release()
        return
    killed = f"the {run.process} ended before its build did, as if killed"
    if found.run_count == run.attempt:
        state = run.final or (Crashed(message=killed) if found.state and found.state.type in _LIVE else None)
        if state is not None and (found.state is None or found.state.name != state.name):
            client.set_flow_run_state(run.run_id, state, force=True)
            _logger.warning("closed the flow run %s as %s: %s", found.name, state.name, state.message)
        _close_parts(client, run.run_id, _UNTOLD if run.final else killed)
    run.forget()


def _close_parts(client: SyncPrefectClient, run_id: UUID, reason: str) -> None:
    """Close the tasks of a run that are still open, and the flow runs that it started, as Crashed."""
    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))
    still_open = TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=list(_OPEN_TASKS))))
    for task in client.read_task_runs(flow_run_filter=of_run, task_run_filter=still_open):
        client.set_task_run_state(task.id, Crashed(message=reason), force=True)
    children = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run_id]))
    for child in client.read_flow_runs(flow_run_filter=children):
        if child.state is not None and child.state.type in _LIVE:
            client.set_flow_run_state(child.id, Crashed(message=reason), force=True)
        _close_parts(client, child.id, reason)


def forget_this_run(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:
    """Forget a run of this process whose final state the server has: Prefect calls it then."""
    if opened := _OURS.pop(flow_run.id, None):
        opened.forget()


def release_runs() -> None:
    """Leave the runs of this process that the server was not told of to the next run of their workspace."""
    while _OURS:
        _OURS.popitem()[1].release()


def close_crashed_run(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:
    """Close the tasks of a run that crashed: Prefect calls it, in the process that served the run if that one lives."""
    forget_this_run(flow, flow_run, state)
    try:
        with get_client(sync_client=True) as client:
            _close_parts(client, flow_run.id, state.message or "the flow run crashed")
    except SERVER_ERRORS as error:
        _logger.warning("the Prefect server was not told of the tasks of a crashed run (%s)", describe(error))
