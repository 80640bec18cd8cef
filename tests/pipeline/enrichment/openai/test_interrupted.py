"""Ctrl-C and other interruptions of a build: requests in flight are paid for, and their answers are kept."""

import dis
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pipeline.enrichment.generator import Outcome, Question
from pipeline.enrichment.openai import DirectGenerator
from pipeline.ledger import Ledger
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import ModelServer, Reply, answer, replies

_NAMES = [f"t{n:03}" for n in range(100)]
_ENRICH = """
import sys
from pathlib import Path
from types import FrameType
from typing import Any
from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.catalog_run import catalog, run
from tests.pipeline.enrichment.model_server import ModelServer
server = ModelServer()
server.base_url = sys.argv[2]
print("begun", flush=True)
run(Path(sys.argv[1]), catalog(*sys.argv[3:]), DirectGenerator(server.settings(concurrency=8)))
"""


def _stopped(workspace: Path, server: ModelServer, by: signal.Signals) -> str:
    """Return the error output of a process stopped amid a hundred questions, eight at a time."""
    command = [sys.executable, "-c", _ENRICH, str(workspace), server.base_url, *_NAMES]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell started in the background ignores SIGINT, and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        until = time.monotonic() + 30
        while len(server.requests) < 30 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(by)
        _, said = process.communicate(timeout=30)
    assert process.returncode != 0
    return said


def test_ctrl_c_in_the_middle_keeps_the_answers_under_way(tmp_path: Path) -> None:
    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.1)) as server:
        assert "KeyboardInterrupt" in _stopped(tmp_path, server, signal.SIGINT)
    assert 30 <= len(server.requests) <= 60  # nobody was asked after it
    assert ledger_rows(tmp_path, "SELECT tool_id FROM expansions ORDER BY ALL") == [
        (name,) for name in sorted(server.asked)
    ]


def test_a_kill_loses_what_was_under_way_and_nothing_else_is_asked_again(tmp_path: Path) -> None:
    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.05)) as server:
        _stopped(tmp_path, server, signal.SIGKILL)
        time.sleep(0.2)  # what was sent has arrived
        asked = set(server.asked)
        kept = {name for (name,) in ledger_rows(tmp_path, "SELECT tool_id FROM expansions")}
        assert kept <= asked and len(asked - kept) <= 8
        result = run(tmp_path, catalog(*_NAMES), DirectGenerator(server.settings(concurrency=8)))
    assert len(result.written) == 100
    assert len(server.requests) - 100 == len(asked - kept)


def test_an_interruption_in_the_middle_of_a_commit_keeps_that_and_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    keep, kept = Ledger.put_entries, threading.Event()

    def interrupted(ledger: Ledger, number: int, entries: list) -> None:  # type: ignore[type-arg]
        if entries and not kept.is_set():
            kept.set()
            signal.raise_signal(signal.SIGINT)  # Python raises KeyboardInterrupt in the main thread
            time.sleep(0.1)
        keep(ledger, number, entries)

    monkeypatch.setattr(Ledger, "put_entries", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with (
        ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.05)) as server,
        pytest.raises(KeyboardInterrupt),
    ):
        run(tmp_path, catalog(*_NAMES), DirectGenerator(server.settings(concurrency=8)))
    assert 1 <= len(server.requests) < 30
    assert ledger_rows(tmp_path, "SELECT tool_id FROM expansions ORDER BY ALL") == [
        (name,) for name in sorted(server.asked)
    ]


class _GivesOnce(DirectGenerator):
    """Gives all outcomes in one group, and after an interruption none again, as a batch does."""

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Yield one group."""
        yield [outcome for group in super().generate(questions) for outcome in group]


def test_a_group_that_no_generator_gives_again_is_kept_after_an_interruption_before_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, interruptions = ThreadPoolExecutor.submit, [KeyboardInterrupt()]

    def interrupted(executor: ThreadPoolExecutor, *arguments: Any) -> Any:
        if executor._thread_name_prefix == "ledger" and interruptions:
            raise interruptions.pop()
        return submit(executor, *arguments)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with ModelServer(answer) as server, pytest.raises(KeyboardInterrupt):
        run(tmp_path, catalog("a", "b", "c"), _GivesOnce(server.settings()))
    assert ledger_rows(tmp_path, "SELECT tool_id FROM expansions ORDER BY ALL") == [("a",), ("b",), ("c",)]


def test_a_ledger_that_cannot_be_written_ends_the_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Ledger, "put_entries", full)
    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.02)) as server:
        with pytest.raises(OSError, match="no space left"):
            run(tmp_path, catalog(*_NAMES), DirectGenerator(server.settings(concurrency=4)))
        time.sleep(0.2)
        asked = len(server.requests)
        time.sleep(0.2)
        assert len(server.requests) == asked < 20


def test_whoever_takes_no_more_outcomes_is_asked_for_no_more() -> None:
    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.02)) as server:
        generator = DirectGenerator(server.settings(concurrency=4))
        with closing(replies(generator, catalog(*_NAMES).records)) as outcomes:  # type: ignore[type-var]
            next(outcomes)
        time.sleep(0.2)
        asked = len(server.requests)
        time.sleep(0.2)
        assert len(server.requests) == asked < 20


@pytest.mark.parametrize("step", range(1, 240, 8))
def test_an_interruption_at_any_step_of_the_build_loses_no_answer(tmp_path: Path, step: int) -> None:
    """Raise where Python itself does so: after a call or a jump, in the modules that hand outcomes over."""
    places = ("enrichment/commit.py", "direct/session.py", "direct/generator.py")
    calls_and_jumps = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD")}
    steps = 0
    previous: dict[FrameType, int] = {}  # the instruction that the frame ran last

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.endswith(places):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            code, now = frame.f_code.co_code, frame.f_lasti
            before = previous.get(frame, 0)
            previous[frame] = now
            begins = code[now] == dis.opmap["RESUME"] and code[now + 1] < 2  # a function, or a generator after a yield
            if server.requests and (begins or code[before] in calls_and_jumps):
                steps += 1
                if steps == step:
                    raise KeyboardInterrupt
        return trace

    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.01)) as server:
        sys.settrace(trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path, catalog(*_NAMES[:40]), DirectGenerator(server.settings(concurrency=4)))
        finally:
            sys.settrace(None)
    assert ledger_rows(tmp_path, "SELECT tool_id FROM expansions ORDER BY ALL") == [
        (name,) for name in sorted(server.asked)
    ]
