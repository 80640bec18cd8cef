"""What our loggers say in a flow run can be read on the Prefect server, and only there."""

import logging
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from uuid import UUID

import pytest
from prefect import flow, task
from prefect.client.schemas.objects import Log
from prefect.context import FlowRunContext

from flows.runtime import logs_on_server
from router.distribution import PACKAGES
from tests.flows.server import logs_of

pytestmark = pytest.mark.usefixtures("prefect_server")


def logged(work: Callable[[], None]) -> list[Log]:
    """The log of a flow run that does the work, once the server has its last line."""
    seen: list[UUID] = []

    @flow(persist_result=False)
    def speaks() -> None:
        context = FlowRunContext.get()
        assert context is not None and context.flow_run is not None
        seen.append(context.flow_run.id)
        with logs_on_server():
            work()
        logging.getLogger("pipeline.sources").warning("too late")

    speaks()
    return logs_of(seen[0], "Finished in state")


def test_records_of_a_flow_its_tasks_and_its_threads_reach_the_server_and_loggers_are_left_as_they_were() -> None:
    @task
    def stage() -> None:
        logging.getLogger("router").info("from a task")

    def work() -> None:
        logging.getLogger("pipeline.sources").info("from the flow")
        logging.getLogger("pipeline.sources").debug("too fine")
        logging.getLogger("quartermaster.serving").info("from a server")
        logging.getLogger("somebody.else").warning("not ours")
        warn = logging.getLogger("flows").warning
        thread = Thread(target=copy_context().run, args=(warn, "from %s", "a thread of the flow"))  # as the build's
        thread.start()
        thread.join()
        stage()

    loggers = [logging.getLogger(name) for name in PACKAGES]
    before = [(logger.level, list(logger.handlers)) for logger in loggers]
    found = logged(work)
    assert [(logger.level, logger.handlers) for logger in loggers] == before
    ours = {log.message: log for log in found if not log.name.startswith("prefect")}
    assert {(log.name, log.level, text) for text, log in ours.items()} == {
        ("pipeline.sources", logging.INFO, "from the flow"),
        ("flows", logging.WARNING, "from a thread of the flow"),
        ("quartermaster.serving", logging.INFO, "from a server"),
        ("router", logging.INFO, "from a task"),
    }
    assert ours["from a task"].task_run_id and not ours["from a thread of the flow"].task_run_id
