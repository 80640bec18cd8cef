"""What the process asks of its system."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from router import Router, process
from router.process import delay_forks, return_freed_memory

_MB = 1 << 20
_REQUEST = "refund the charge, then notify the team in slack"


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_memory_goes_back_to_the_system() -> None:
    blocks = [bytearray(4_000) for _ in range(20_000)]  # 80 MB, each too small to be mapped alone
    kept = blocks[::1_000]  # keep the heap from shrinking at its end
    del blocks
    before = resident()
    return_freed_memory()
    assert len(kept) == 20
    assert before - resident() > 40 * _MB


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_process_that_is_forked_while_threads_route_answers_the_same(router: Router) -> None:
    expected, ended = router.route(_REQUEST).ids, threading.Event()

    def route_on() -> None:
        while not ended.is_set():
            router.route(_REQUEST)

    threads = [threading.Thread(target=route_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            if not (child := os.fork()):
                # A lock that a thread of the parent held would block for ever, also a handler written in Python.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(20)
                os._exit(0 if router.route(_REQUEST).ids == expected else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_fork_waits_for_the_run_under_way_and_no_run_begins_before_it() -> None:
    began, forked, order = threading.Event(), threading.Event(), []

    def delayed(name: str, seconds: float) -> None:
        with delay_forks():
            order.append(f"{name} begins")
            began.set()
            time.sleep(seconds)
            order.append(f"{name} ends")

    def run_late() -> None:
        while not process._fork.locked() and not forked.is_set():
            time.sleep(0.001)
        delayed("second run", 0)

    threads = [threading.Thread(target=delayed, args=("run", 0.5)), threading.Thread(target=run_late)]
    threads[0].start()
    began.wait()
    threads[1].start()
    if not (child := os.fork()):
        os._exit(0 if order == ["run begins", "run ends"] and not process._fork.locked() else 1)
    forked.set()
    for thread in threads:
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert order == ["run begins", "run ends", "second run begins", "second run ends"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_fork_inside_the_very_run_that_it_waits_for_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_FORK_WAITS_S", 0.01)
    with delay_forks():
        if not (child := os.fork()):
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
