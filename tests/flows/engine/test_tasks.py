"""Stages as tasks: what is tried again, what is not, and what a time-out says."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from prefect import flow

from flows.engine.tasks import TaskExecution
from pipeline.errors import RunAborted, Unavailable
from pipeline.progress import SilentProgress
from pipeline.settings import FlowSettings

pytestmark = pytest.mark.usefixtures("prefect_server")


class Heard(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def run(work: Callable[[], Any], label: str = "", **settings: Any) -> tuple[Any, list[str]]:
    """A stage inside a flow: its result, and what was said of it."""
    heard = Heard()
    tasks = TaskExecution(FlowSettings(**{"retry_delay_s": 0.01, **settings}), heard)

    @flow(persist_result=False)
    def one_stage() -> Any:
        return tasks.run("read", work, label=label)

    return one_stage(), heard.notes


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    """Work that raises so many times before it succeeds, and the list of its attempts."""
    attempts: list[int] = []

    def work() -> str:
        attempts.append(len(attempts) + 1)
        if len(attempts) <= times:
            raise error
        return "done"

    return work, attempts


def test_what_did_not_answer_is_tried_again_and_said() -> None:
    work, attempts = failing(2, Unavailable("no answer"))
    assert run(work) == ("done", ["no answer", "no answer"])
    assert len(attempts) == 3


def test_after_its_retries_the_stages_own_error_is_raised() -> None:
    work, attempts = failing(9, Unavailable("no answer"))
    with pytest.raises(Unavailable, match="no answer"):
        run(work, retries=1)
    assert len(attempts) == 2


@pytest.mark.parametrize("error", [RunAborted("a wrong key"), KeyError("a bug")])
def test_what_would_fail_again_is_not_tried_again(error: Exception) -> None:
    work, attempts = failing(9, error)
    with pytest.raises(type(error)):
        run(work)
    assert len(attempts) == 1


def test_a_stage_past_its_time_is_one_sentence_with_the_setting() -> None:
    def endless() -> None:
        while True:
            time.sleep(0.01)

    with pytest.raises(RunAborted, match=r"the stage 'read notes' did not finish within 0.5 s: raise flow.timeout_s$"):
        run(endless, "notes", timeout_s=0.5)


def test_a_label_of_a_catalog_is_no_template() -> None:
    assert run(lambda: "done", "{work} {nobody}")[0] == "done"
