"""The MCP server: lines on standard input, and bodies over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.stdio import stdio_server

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.mcp import server
from quartermaster.serving.mcp.http import PATH, http_app
from router import Router
from simulations.fuzz.asgi import asked
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target
from simulations.fuzz.targets import seeds
from tests.support.factories import TOOLS

_CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
_FIRST = (
    {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": _CLIENT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
_LAST = {"jsonrpc": "2.0", "id": "the last", "method": "ping"}
_HEADERS = (
    (b"host", b"localhost"),
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
    (b"mcp-protocol-version", b"2025-06-18"),
)


class _Output:
    """Standard output, of which each line is kept. `last` is set by the answer to the last ping."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.last = asyncio.Event()

    async def write(self, text: str) -> None:
        for line in text.removesuffix("\n").split("\n"):
            self.lines.append(message := json.loads(line))
            if message.get("id") == _LAST["id"]:
                self.last.set()

    async def flush(self) -> None:
        pass


def _lines(resources: Resources) -> Run:
    router = resources.stack.enter_context(Router.open(resources.snapshot))
    served = server(router)

    async def talk(data: bytes) -> None:
        output = _Output()

        async def incoming() -> AsyncIterator[str]:
            for message in _FIRST:
                yield json.dumps(message) + "\n"
            for line in data.split(b"\n"):
                yield line.decode("utf-8", "replace") + "\n"
            yield json.dumps(_LAST) + "\n"
            await output.last.wait()

        async with stdio_server(stdin=incoming(), stdout=output) as (reading, writing):  # type: ignore[arg-type]
            await served.run(reading, writing, served.create_initialization_options())
        for message in output.lines:
            assert message.get("jsonrpc") == "2.0", "a line is no message"
            assert message.get("error", {}).get("code") != -32603, f"an internal error: {message['error']}"

    return lambda data: asyncio.run(talk(data))


def _bodies(resources: Resources) -> Run:
    router = resources.stack.enter_context(Router.open(resources.snapshot))
    settings = HttpSettings(requests_per_minute=None)
    served = resources.stack.enter_context(asked(http_app(server(router), settings)))

    def run(data: bytes) -> None:
        answer = served.ask("POST", PATH.encode(), b"", _HEADERS, data)
        assert 200 <= answer.status < 500, f"the status is {answer.status}: {answer.body[:200]!r}"
        if answer.body:
            message = json.loads(answer.body)
            assert message.get("error", {}).get("code") != -32603, f"an internal error: {message['error']}"

    return run


def _call(number: int, name: str, arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


_MESSAGES = [
    _call(1, "find_tools", {"request": "undo a payment", "k": 2, "token_budget": 300, "detail": "short"}),
    _call(6, "find_tools", {"request": "will it rain", "read_only": True, "category": "sky"}),
    _call(2, "describe_tool", {"tool_id": TOOLS[0]["id"]}),
    _call(3, "call_tool", {"tool_id": TOOLS[0]["id"], "arguments": {"status": "failed"}}),
    {"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"cursor": "x", "_meta": {"progressToken": 1}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "late"}},
    {"jsonrpc": "2.0", "id": 5, "result": {}},
    *_FIRST,
]
TARGETS = (
    Target("mcp_lines", Form.LINES, (seeds.lines(_MESSAGES),), _lines, (), gate=15),
    Target("mcp_bodies", Form.JSON, tuple(map(seeds.document, _MESSAGES)), _bodies, (), gate=60),
)
