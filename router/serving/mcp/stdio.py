"""The server over standard input and output, as a client starts it."""

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from router.serving.mcp.tools import Tools

_logger = logging.getLogger("router.serving")
_LONGEST = 16 << 20  # bytes of a message: four times what the HTTP transport takes


def serve_stdio(served: Server[Tools]) -> None:
    """Answer on standard output what standard input asks, until either ends. Whatever else is printed goes to stderr."""

    async def run() -> None:
        async with stdio_server(stdin=_standard_input()) as (reading, writing):
            await served.run(reading, writing, served.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        _logger.warning("the client went before it had read its answers")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more, at its end


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
                _logger.warning("a message of more than %s bytes was passed over", f"{_LONGEST:,}")
                continue
            if not line:
                return
            yield line.decode("utf-8", "replace")
    finally:
        pipe.close()
