"""What the process asks of its system."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from router import Router
from router.process import return_freed_memory

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
        for _ in range(5):
            if not (child := os.fork()):
                signal.alarm(20)  # a lock that a thread of the parent held would block for ever
                os._exit(0 if router.route(_REQUEST).ids == expected else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        ended.set()
        for thread in threads:
            thread.join()
