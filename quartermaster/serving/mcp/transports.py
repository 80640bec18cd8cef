"""The ways to an upstream, with a bound on each message: a process's standard input and output, or streamable HTTP."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.server.stdio import stdio_server

from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed

# A stream of notifications may be silent for long; the client bounds the time of a call.
_MAX_SILENCE_S = 300.0
_END_S = 2.0  # until a process is asked to end, and again until it is killed


@asynccontextmanager
async def stdio_transport(upstream: Upstream, ended: anyio.Event) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of messages from and to an upstream's process, which ends with this block and its children.

    Sets `ended` when the process closes its output. Raises UpstreamFailed for a message that is too long: the SDK's own
    client keeps all of it, and joins it anew for each part that comes. Its server has lines from elsewhere.
    """
    # Finds programs beside this Python even if its environment is not activated.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH") or os.defpath))
    environment = {**get_default_environment(), "PATH": path, **upstream.environment}
    process = await anyio.open_process(
        upstream.command, env=environment, cwd=upstream.folder, stderr=sys.stderr, start_new_session=True
    )
    assert process.stdin and process.stdout
    lines: Any = _lines(process.stdout, upstream.max_message_bytes, ended)
    async with stdio_server(stdin=lines, stdout=_Input(process.stdin)) as streams:  # type: ignore[arg-type]
        try:
            yield streams
        finally:
            with anyio.CancelScope(shield=True):
                for stream in streams:
                    await stream.aclose()
                await _end(process)


async def _lines(output: ByteReceiveStream, max_bytes: int, ended: anyio.Event) -> AsyncIterator[str]:
    buffered = BufferedByteReceiveStream(output)
    try:
        with suppress(anyio.IncompleteRead, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                yield (await buffered.receive_until(b"\n", max_bytes)).decode("utf-8", "replace")
    except anyio.DelimiterNotFound:
        raise UpstreamFailed(f"it sent a message of more than {max_bytes:,} bytes (max_message_bytes)") from None
    finally:
        ended.set()


@dataclass
class _Input:
    """A process's input, as the SDK writes to it."""

    stream: ByteSendStream

    async def write(self, text: str) -> None:
        await self.stream.send(text.encode())

    async def flush(self) -> None:
        pass


async def _end(process: Process) -> None:
    """Close the process's input, then end it and its children where it does not end by itself."""
    assert process.stdin
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_END_S):
        while process.returncode is None:  # `wait` waits for children that hold the pipe, too
            await anyio.sleep(0.01)
    await terminate_posix_process_tree(process, _END_S)
    with anyio.move_on_after(_END_S):
        await process.aclose()


@asynccontextmanager
async def http_transport(upstream: Upstream) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of messages from and to an upstream's address. A message that is too long is an error."""

    async def bound(response: httpx2.Response) -> None:
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):  # the SDK bounds these
            response.stream = _BoundedStream(response, upstream.max_message_bytes)

    timeout = httpx2.Timeout(upstream.timeout_s, read=max(_MAX_SILENCE_S, 2 * upstream.timeout_s))
    client = httpx2.AsyncClient(
        # Compressed, a message may become a thousand times as long as what is counted.
        headers={"Accept-Encoding": "identity", **upstream.headers},
        auth=upstream.auth,
        timeout=timeout,
        event_hooks={"response": [bound]},
    )
    largest_event = upstream.max_message_bytes
    async with (
        client,
        streamable_http_client(str(upstream.url), http_client=client, max_sse_event_size=largest_event) as streams,
    ):
        yield streams


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of a response. Raises StreamError, which the client takes for the answer, where it is too long."""

    def __init__(self, response: httpx2.Response, max_bytes: int) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._encoding = response.headers.get("content-encoding", "identity")
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding.lower() != "identity":
            raise httpx2.StreamError("it sent a compressed message, which nobody asked for")
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._max_bytes:
                raise httpx2.StreamError(
                    f"it sent a message of more than {self._max_bytes:,} bytes (max_message_bytes)"
                )
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
