"""Talk to an MCP server over the standard streams of its process. The SDK's own client reads lines of any length."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import StdioServerParameters
from mcp.shared.message import SessionMessage

from pipeline.sources.transport.allowance import Allowance

_GRACE_S = 2.0  # for a server to end once its input has
_Received = SessionMessage | Exception


@asynccontextmanager
async def stdio_client(server: StdioServerParameters, allowance: Allowance) -> AsyncGenerator[Any, None]:
    """Start a server, and yield the streams of its messages, as the SDK's client wants them.

    The server is ended with its process group: at once where it crossed the allowance, else after two seconds of grace.
    """
    process = await anyio.open_process(
        [server.command, *server.args],
        env=server.env,  # not the SDK's default: what may be inherited is said once, in `commands`
        stderr=None,
        cwd=server.cwd,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    received, to_client = _pair(_Received)
    from_client, sent = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process.stdout, received, allowance)
            tasks.start_soon(_write, process.stdin, sent)
            try:
                yield to_client, from_client
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process, allowance)
                tasks.cancel_scope.cancel()
    finally:
        for stream in (received, to_client, from_client, sent):
            stream.close()


def _pair(kind: Any) -> tuple[MemoryObjectSendStream[Any], MemoryObjectReceiveStream[Any]]:
    return anyio.create_memory_object_stream[kind](0)


async def _read(stdout: ByteReceiveStream, received: MemoryObjectSendStream[Any], allowance: Allowance) -> None:
    """Pass on one message a line, until the server's output or the client ends."""
    line = bytearray()
    async with received:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in stdout:
                allowance.take(len(chunk))
                first, *others = chunk.split(b"\n")
                line += first
                for other in others:
                    allowance.check_message(len(line))
                    await received.send(_message(bytes(line)))
                    line = bytearray(other)
                allowance.check_message(len(line))


def _message(line: bytes) -> _Received:
    """Return a line as a message, or why it is none."""
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(stdin: ByteSendStream, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for message in sent:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stdin.send(f"{text}\n".encode())


async def _stop(process: Process, allowance: Allowance) -> None:
    assert process.stdin is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(0 if allowance.failure else _GRACE_S):
        while process.returncode is None:  # not wait(): it waits for children that hold the pipes, too
            await anyio.sleep(0.01)
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(_GRACE_S):
        await process.aclose()
