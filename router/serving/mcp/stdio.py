"""The server over standard input and output, as a client starts it."""

import asyncio
import logging
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from router.serving.mcp.tools import Tools

_logger = logging.getLogger("router.serving")
_LONGEST = 16 << 20  # bytes of a message: four times what the HTTP transport takes


def serve_stdio(served: Server[Tools]) -> None:
    """Answer on standard output what standard input asks, until either ends, or SIGTERM or SIGHUP comes.

    Whatever else is printed goes to stderr. A signal is raised once more at the end, for whoever had it before. Call it
    from the main thread.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    obeyed = [number for number, handler in before.items() if handler is not signal.SIG_IGN]  # as under nohup
    came: list[signal.Signals] = []

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            # By the event loop: a handler that raises does so in the middle of whatever runs, and ends it half done.
            tasks.start_soon(_wait, obeyed, came, tasks.cancel_scope)
            async with stdio_server(stdin=_standard_input()) as (reading, writing):
                await served.run(reading, writing, served.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(run)
    except* BrokenPipeError:
        _logger.warning("the client left before it had read its answers")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more, at its end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


async def _wait(numbers: Sequence[signal.Signals], came: list[signal.Signals], scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(*numbers) as signals:
        async for number in signals:
            came.append(number)
            scope.cancel()


def _standard_input() -> Any:
    """Standard input as lines, None for the transport's own where it is a file.

    That reads in a thread, which a signal cannot end: a server that is stopped would wait for its client.
    """
    kind = os.fstat(sys.stdin.fileno()).st_mode
    return None if stat.S_ISREG(kind) else _lines()


async def _lines() -> AsyncIterator[str]:
    reader = asyncio.StreamReader(limit=_LONGEST)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
    )
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:  # what is left of it is no message either
                _logger.warning("a message of more than %s bytes was ignored", f"{_LONGEST:,}")
                continue
            if not line:
                return
            yield line.decode("utf-8", "replace")
    finally:
        pipe.close()
