"""The MCP server over standard input and output, as clients start it."""

import asyncio
import logging
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

_logger = logging.getLogger("quartermaster.serving")
MAX_MESSAGE_BYTES = 16 << 20


def serve_stdio(served: Server[Any], *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
    """Answer requests from standard input on standard output, until either closes, or SIGTERM or SIGHUP arrives.

    It speaks the 2025 protocol, in which a tool's server can ask the client during a call; a client that knows a newer
    one falls back to it. A longer message than `max_message_bytes` is ignored, with a warning.

    Other output goes to stderr. A signal is raised again at the end, for the handler from before. Call it from the
    main thread.
    """
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    received: list[signal.Signals] = []

    async def run() -> None:
        with anyio.CancelScope() as scope:

            def stop(number: signal.Signals) -> None:
                received.append(number)
                scope.cancel()

            for number, handler in previous.items():
                if handler is not signal.SIG_IGN:  # as under nohup
                    # In the event loop: a handler that raises would interrupt any code half done.
                    asyncio.get_running_loop().add_signal_handler(number, stop, number)
            # The transport reads in a thread, which a signal cannot end: a stopped server would wait for its client.
            is_file = stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
            lines: Any = None if is_file else _lines(max_message_bytes)
            async with stdio_server(stdin=lines) as (reading, writing), served.lifespan(served) as state:
                options = served.create_initialization_options()
                await serve_loop(served, reading, writing, lifespan_state=state, init_options=options)

    try:
        anyio.run(run)
    except* BrokenPipeError:
        _logger.warning("the client left before it had read its answers")
        # Otherwise Python fails again when it flushes stdout at exit, and 3.13 reports the transport's own buffer.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        hook = sys.unraisablehook
        sys.unraisablehook = lambda caught: None if isinstance(caught.exc_value, BrokenPipeError) else hook(caught)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    for number in received:
        signal.raise_signal(number)


async def _lines(max_bytes: int) -> AsyncIterator[str]:
    reader = asyncio.StreamReader(limit=max_bytes)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
    )
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:  # the rest of the line is not a message either
                _logger.warning("a message of more than %s bytes was ignored", f"{max_bytes:,}")
                continue
            if not line:
                return
            yield line.decode("utf-8", "replace")
    finally:
        pipe.close()
