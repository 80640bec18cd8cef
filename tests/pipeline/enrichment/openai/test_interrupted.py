"""Ctrl-C, a kill, a full disk: requests in flight are paid for, and what can be kept of their answers is kept."""

import dis
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb
import pytest

from pipeline.enrichment.openai import DirectGenerator
from pipeline.errors import RunAborted
from pipeline.ledger.answers import Answers
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, answer, replies
from tests.support.places import ROOT
from tests.support.waiting import until

_NAMES = [f"t{n:03}" for n in range(100)]
_LOST = re.compile(r"because the disk is full .*, (\d+) could not be stored .*\(for ([\d.]+) US")
# Enriches in a process of its own.
_ENRICH = """
import sys
from pathlib import Path
from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.catalog_run import catalog, run
from tests.pipeline.enrichment.model_server import ModelServer
workspace, url, *names = sys.argv[1:]
server = ModelServer()
server.base_url = url
run(Path(workspace), catalog(*names), DirectGenerator(server.settings(concurrency=8)))
"""


def _slow(delay_s: float) -> ModelServer:
    return ModelServer(lambda body, _: Reply(answer(body).body, delay_s=delay_s))


def _kept(workspace: Path) -> list[str]:
    return [name for (name,) in ledger_rows(workspace, "SELECT tool_id FROM expansions ORDER BY ALL")]


def _stopped(workspace: Path, server: ModelServer, by: signal.Signals) -> str:
    """Return the error output of a process stopped amid a hundred questions, eight at a time."""
    with subprocess.Popen(
        [sys.executable, "-c", _ENRICH, str(workspace), server.base_url, *_NAMES],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert until(lambda: len(server.requests) >= 30, 150)
        process.send_signal(by)
        _, said = process.communicate(timeout=150)
    assert process.returncode != 0
    return said


def test_ctrl_c_in_the_middle_keeps_the_answers_under_way(tmp_path: Path) -> None:
    with ModelServer(lambda body, n: Reply(answer(body).body, delay_s=0.5 if n > 25 else 0.0)) as server:
        assert "KeyboardInterrupt" in _stopped(tmp_path, server, signal.SIGINT)
    assert 30 <= len(server.requests) < len(_NAMES)  # nobody was asked after it
    assert _kept(tmp_path) == sorted(server.asked)


@pytest.mark.nightly
def test_a_kill_loses_what_was_under_way_and_nothing_else_is_asked_again(tmp_path: Path) -> None:
    with _slow(0.05) as server:
        _stopped(tmp_path, server, signal.SIGKILL)
        time.sleep(0.2)  # what was sent has arrived
        asked, kept = set(server.asked), set(_kept(tmp_path))
        assert kept <= asked and len(asked - kept) <= 8
        result = run(tmp_path, catalog(*_NAMES), DirectGenerator(server.settings(concurrency=8)))
    assert len(result.written) == 100
    assert len(server.requests) - 100 == len(asked - kept)


@pytest.mark.parametrize("stored", [0, 3])
def test_a_ledger_that_can_no_longer_be_written_ends_the_asking_and_counts_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: int
) -> None:
    keep, times = Answers.put_entries, iter(range(1_000))

    def full(ledger: Answers, number: int, entries: Any) -> None:
        if next(times) >= stored:
            raise duckdb.IOException('Could not write file "ledger.duckdb.wal": No space left on device')
        keep(ledger, number, entries)

    with monkeypatch.context() as patch, _slow(0.02) as server:
        patch.setattr(Answers, "put_entries", full)
        with pytest.raises(RunAborted, match=_LOST) as aborted:
            run(tmp_path, catalog(*_NAMES), DirectGenerator(server.settings(concurrency=4)))
        asked = len(server.requests)
    told = _LOST.search(str(aborted.value))
    assert told is not None and float(told[2]) == round(int(told[1]) * COST, 6)
    assert len(_kept(tmp_path)) == asked - int(told[1]) >= stored
    assert asked <= 4 * (stored + 2)


def test_whoever_takes_no_more_outcomes_is_asked_for_no_more() -> None:
    with ModelServer() as server:
        generator = DirectGenerator(server.settings(concurrency=4))
        with closing(replies(generator, catalog(*_NAMES).records)) as outcomes:  # type: ignore[type-var]
            next(outcomes)
    # The server has ended, and with it every request. Nothing is sent while the caller has a group.
    assert len(server.requests) <= 8


_STEPS = [pytest.param(step, marks=[] if step < 4 else pytest.mark.nightly) for step in range(1, 12)]


@pytest.mark.parametrize("step", _STEPS)
def test_an_interruption_at_any_step_of_the_wait_loses_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Raise where Python itself does so: after a call or a jump, in the module that waits for the answers."""
    monkeypatch.setattr("pipeline.enrichment.ask._TICK_S", 0.01)
    calls_and_jumps = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD")}
    steps = 0
    previous: dict[FrameType, int] = {}  # the instruction that the frame ran last

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.endswith("enrichment/ask.py"):
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

    with _slow(0.01) as server:
        sys.settrace(trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path, catalog(*_NAMES[:40]), DirectGenerator(server.settings(concurrency=4)))
        finally:
            sys.settrace(None)
    assert _kept(tmp_path) == sorted(server.asked)
