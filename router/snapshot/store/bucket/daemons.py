"""Work on threads that neither the end of the process nor a router's `close` waits for."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

_Result = TypeVar("_Result")

Job = Callable[[threading.Event], None]
_GLANCE_S = 0.1  # between two looks whether to stop


class Stopped(OSError):
    """The work was ended before it was done, because its router was closed."""


def interruptible(call: Callable[[], _Result]) -> _Result:
    """Return what a call into a library returns, and let signals interrupt the main thread while it waits.

    Python handles a signal on the main thread between two of its own steps: a call into Rust would put that off until
    the server answers. Where the handler raises, the call goes on unheard.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    return stoppable(call, threading.Event())


def stoppable(call: Callable[[], _Result], stop: threading.Event) -> _Result:
    """Return what a call returns. Raises Stopped where `stop` is set before; the call then goes on unheard."""
    results: list[_Result] = []
    run_jobs([lambda _: results.append(call())], 1, stop)
    return results[0]


def run_jobs(jobs: Sequence[Job], threads: int, stop: threading.Event) -> None:
    """Run jobs on `threads` threads until all are done. Each gets an event that is set when it should end.

    Raises the first error of a job, and Stopped where `stop` is set before all are done. A job that then still waits
    for a server must look at its event before it writes: nobody waits for it. The threads of a `ThreadPoolExecutor`
    would be waited for at the end of the process.
    """
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    halt = threading.Event()
    for job in jobs:
        waiting.put(job)

    def work() -> None:
        while not halt.is_set():
            try:
                waiting.get_nowait()(halt)
            except queue.Empty:
                return
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread, panics of Rust too
                ended.put(error)
                return
            ended.put(None)

    for _ in range(min(threads, len(jobs))):
        threading.Thread(target=work, name="quartermaster-bucket", daemon=True).start()
    try:
        for _ in range(len(jobs)):
            _raise(_next(ended, stop))
    finally:
        halt.set()


def _next(ended: "queue.SimpleQueue[BaseException | None]", stop: threading.Event) -> BaseException | None:
    while not stop.is_set():
        try:
            return ended.get(timeout=_GLANCE_S)
        except queue.Empty:
            continue
    return Stopped("the router was closed")


def _raise(error: BaseException | None) -> None:
    if error is not None:
        raise error
