"""What our loggers say in a flow run can be read on the Prefect server, and only there."""

import logging
import time
from collections.abc import Callable
from threading import Thread
from uuid import UUID

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import Log
from prefect.context import FlowRunContext
from prefect.logging.handlers import PrefectConsoleHandler

from flows.engine.run_logs import logs_on_server, silence_console

pytestmark = pytest.mark.usefixtures("prefect_server")


def logged(work: Callable[[], None]) -> tuple[UUID, list[Log]]:
    """The id of a flow run that does the work, and its log once the server has its last line."""
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
    wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=seen))
    until = time.monotonic() + 30
    with get_client(sync_client=True) as client:
        while True:
            found = client.read_logs(wanted, limit=100)
            if any(log.message.startswith("Finished in state") for log in found) or time.monotonic() > until:
                return seen[0], found
            time.sleep(0.2)


def test_records_of_a_flow_its_tasks_and_its_threads_reach_the_server() -> None:
    @task
    def stage() -> None:
        logging.getLogger("router").info("from a task")

    def work() -> None:
        logging.getLogger("pipeline.sources").info("from the flow")
        logging.getLogger("pipeline.sources").debug("too fine")
        logging.getLogger("somebody.else").warning("not ours")
        thread = Thread(target=logging.getLogger("flows").warning, args=("from %s", "a thread"))
        thread.start()
        thread.join()
        stage()

    _, found = logged(work)
    ours = {log.message: log for log in found if not log.name.startswith("prefect")}
    assert {(log.name, log.level, text) for text, log in ours.items()} == {
        ("pipeline.sources", logging.INFO, "from the flow"),
        ("flows", logging.WARNING, "from a thread"),
        ("router", logging.INFO, "from a task"),
    }
    assert ours["from a task"].task_run_id and not ours["from a thread"].task_run_id


def test_loggers_are_left_as_they_were() -> None:
    logger = logging.getLogger("pipeline")
    before = (logger.level, list(logger.handlers))
    logged(lambda: logger.info("heard"))
    assert (logger.level, logger.handlers) == before


def test_a_silent_console_shows_our_warnings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", True)
    handler = PrefectConsoleHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    silence_console()
    shown = [
        name
        for name, level in [
            ("prefect.flow_runs", logging.ERROR),
            ("EventsWorker", logging.WARNING),
            ("pipeline", logging.INFO),
            ("router", logging.WARNING),
        ]
        if handler.filter(logging.LogRecord(name, level, "", 0, "words", (), None))
    ]
    assert shown == ["router"]
