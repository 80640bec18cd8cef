"""The threads of a router's async methods, started at the first call."""

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from router.errors import RequestInvalid
from router.process import cores, renew_in_child

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_T = TypeVar("_T")
_CLOSED = "the router is closed: open another"

# Routing computes and never waits, so that more threads than cores gain nothing. And a fifth of a route's CPU time (at
# 10,000 tools: fusing, records, reasons) holds the interpreter's lock: past four or five, threads would wait for it.
_MOST_THREADS = 4


THREADS = min(cores(), _MOST_THREADS)
# More of them where a model may be asked for needs: so many wait for it at a time, and take no core.
ASKING = 8


class Executor:
    """Runs calls on at most so many threads, the others in order of arrival, until closed."""

    def __init__(self, threads: int = THREADS) -> None:
        self._most = threads
        self._starting = threading.Lock()
        renew_in_child(self, "_starting")
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._closed = False

    async def run(self, call: Callable[[], _T]) -> _T:
        """Return what a call returns, or raise what it raises. The call sees the caller's context variables.

        When the task is cancelled, a waiting call is dropped, and the result of a running one is ignored. Raises
        RequestInvalid after `close`, and where `close` cancels the call.
        """
        import asyncio  # 40 ms, which a program with an event loop has paid

        try:
            future = asyncio.get_running_loop().run_in_executor(self._threads(), copy_context().run, call)
        except RuntimeError as error:  # closed between the two
            raise RequestInvalid(_CLOSED) from error
        try:
            return await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and not (task and task.cancelling()):
                raise RequestInvalid(_CLOSED) from None
            raise

    def require_open(self) -> None:
        """Raise RequestInvalid after `close`."""
        if self._closed:
            raise RequestInvalid(_CLOSED)

    def close(self) -> None:
        """Wait for running calls, cancel waiting ones, and end the threads."""
        with self._starting:
            pool, self._pool, self._closed = self._pool, None, True
        if pool is not None and self._process == os.getpid():
            pool.shutdown(cancel_futures=True)

    def _threads(self) -> "ThreadPoolExecutor":
        from concurrent.futures import ThreadPoolExecutor

        with self._starting:
            self.require_open()
            if self._pool is None or self._process != os.getpid():  # a fork leaves the threads behind
                self._pool, self._process = ThreadPoolExecutor(self._most, "quartermaster-route"), os.getpid()
            return self._pool
