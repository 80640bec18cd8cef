"""The upstreams' processes in this process: the same bytes over streams in memory, in place of pipes.

What the gateway has of a process (its pipes, its end) is here; the framing of messages, their bounds and the shutdown
are the gateway's own. Starting a real server that imports the SDK takes a second of CPU.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

from quartermaster.serving.mcp import Upstream, transports
from tests.quartermaster.serving.mcp.clerk import clerk_server
from tests.quartermaster.serving.mcp.plain_server import Dies, Hangs, Plain, lines
from tests.quartermaster.serving.mcp.weather import weather_server

HERE = Path(__file__).parent
Program = Callable[["MemoryProcess", tuple[str, ...], Mapping[str, str]], Awaitable[None]]
_real_start, _real_end = transports._start, terminate_posix_process_tree
_pids = count(1)


class MemoryProcess:
    """A program that runs in this event loop: what it reads, what it writes, and whether it has ended."""

    started: list["MemoryProcess"] = []  # noqa: RUF012 - of one test

    def __init__(self, program: Program, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.pid = next(_pids)
        self.returncode: int | None = None
        self.stdin, self._heard = anyio.create_memory_object_stream[bytes](100)
        self._written, self.stdout = anyio.create_memory_object_stream[bytes](100)
        self._task = asyncio.get_running_loop().create_task(self._run(program(self, arguments, environment)))
        self.started.append(self)

    async def _run(self, program: Awaitable[None]) -> None:
        code = -9
        try:
            await program
            code = 0
        except Dies:
            code = 3
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody reads it
            code = 1
        finally:
            self.returncode = code
            self._written.close()
            self._heard.close()

    async def lines(self) -> AsyncIterator[str]:
        """The lines of its input."""
        rest = b""
        async for part in self._heard:
            *complete, rest = (rest + part).split(b"\n")
            for line in complete:
                yield line.decode()

    async def write(self, text: str) -> None:
        """Write to its output."""
        await self._written.send(text.encode())

    async def flush(self) -> None:
        """Nothing is kept back."""

    def kill(self) -> None:
        """End it at once."""
        self._task.cancel()

    async def aclose(self) -> None:
        """Let go of it once it has ended."""
        with suppress(asyncio.CancelledError):
            await self._task
        self.stdin.close()
        self.stdout.close()


async def plain_program(process: MemoryProcess, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
    """Run the plain server."""
    server = Plain("".join(arguments), environment, process.pid)
    try:
        async for line in process.lines():
            for written in lines(server.hear(json.loads(line))):
                await process.write(written)
    except Hangs:
        await anyio.sleep_forever()


def sdk_program(make: Callable[[], MCPServer]) -> Program:
    """A program that runs a server of the SDK; with the argument `only 2026`, it knows no protocol before that."""

    async def run(process: MemoryProcess, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        server: Any = make()._lowlevel_server
        reading = _only_2026(process) if arguments[-1] == "only 2026" else process.lines()
        async with stdio_server(stdin=reading, stdout=process) as streams:  # type: ignore[arg-type]
            await server.run(*streams, server.create_initialization_options())

    return run


async def _only_2026(process: MemoryProcess) -> AsyncIterator[str]:
    async for line in process.lines():
        message = json.loads(line)
        if message.get("method") == "initialize":
            error = {"code": -32601, "message": "no such method"}
            await process.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}) + "\n")
        else:
            yield line


PROGRAMS: dict[str, Program] = {
    str(HERE / "plain_server.py"): plain_program,
    str(HERE / "clerk.py"): sdk_program(clerk_server),
    str(HERE / "weather.py"): sdk_program(weather_server),
}


async def start(upstream: Upstream) -> Any:
    """Start an upstream's program in this process where it is one of the tests' own, else as the gateway does."""
    interpreter, program, *arguments = (*upstream.command, "", "")
    if interpreter != sys.executable or program not in PROGRAMS:
        return await _real_start(upstream)
    given = tuple(argument for argument in arguments if argument)
    return MemoryProcess(PROGRAMS[program], given, upstream.environment)


async def end(process: Any, seconds: float) -> None:
    """End a process."""
    if isinstance(process, MemoryProcess):
        process.kill()
    else:
        await _real_end(process, seconds)
