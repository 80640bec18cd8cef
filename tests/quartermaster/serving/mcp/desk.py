"""A client of the MCP server in this process, that notes what it is told and answers what it is asked."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server

from quartermaster.serving.mcp import Upstream
from quartermaster.serving.mcp.client import Answer, CallingClient, Question
from quartermaster.serving.mcp.connection import Connection
from tests.quartermaster.serving.mcp.conftest import plain, text_of


def asking(timeout_s: float = 120.0, **settings: Any) -> Upstream:
    """The server of 2025 that asks too much."""
    return plain("asking", timeout_s, name="asking", **settings)


@dataclass
class Desk:
    """What a client was told and asked, and its calls."""

    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    questions: list[Any] = field(default_factory=list)
    sampled: list[Any] = field(default_factory=list)
    _client: Client | None = None

    @property
    def client(self) -> Any:
        assert self._client is not None
        return self._client

    async def elicited(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.append(params)
        assert isinstance(params, types.ElicitRequestFormParams)
        properties = params.requested_schema["properties"]
        content: dict[str, Any] = {"yes": True} if "yes" in properties else {"name": "Ada"}
        return types.ElicitResult(action="accept", content=content)

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.sampled.append(params)
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="four"), model="m"
        )

    async def call(self, tool_id: str, **arguments: Any) -> types.CallToolResult:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, total, message))

        given = {"tool_id": tool_id, "arguments": arguments}
        result: types.CallToolResult = await self.client.call_tool("call_tool", given, progress_callback=on_progress)
        return result

    async def json(self, tool_id: str, **arguments: Any) -> Any:
        return json.loads(await self.text(tool_id, **arguments))

    async def told(self, what: str) -> bool:
        """Whether the clerk noted something."""
        return what in str((await self.call("clerk/told")).content)

    async def text(self, tool_id: str, **arguments: Any) -> str:
        answer = await self.call(tool_id, **arguments)
        assert not answer.is_error, text_of(answer)
        return text_of(answer)


@asynccontextmanager
async def at_desk(
    target: Server[Any] | Any, mode: str = "legacy", *, answers: bool = True, **settings: Any
) -> AsyncIterator[Desk]:
    """A connected client, by the 2025 protocol as over stdio. Without `answers`, it can be asked nothing."""
    desk = Desk()
    able: dict[str, Any] = {"elicitation_callback": desk.elicited, "sampling_callback": desk.sample} if answers else {}
    async with Client(target, mode=mode, **able, **settings) as client:
        desk._client = client
        yield desk


async def until(true: Callable[[], Any], pause: float = 0.01) -> None:
    """Wait until something holds, or what is awaited for it, 150 s at most. Each pause is longer than the last."""
    with anyio.fail_after(150):
        while not (await found if isawaitable(found := true()) else found):
            await anyio.sleep(pause)
            pause = min(1.5 * pause, 0.5)


def run_out(connection: Connection) -> None:
    """Let the time of the calls under way at a server be over. It has all the time that it needs to start."""
    assert connection._calls._scopes
    for scope in connection._calls._scopes:
        scope.deadline = 0.0


class Noted(CallingClient):
    """A calling client that notes what it is asked, and declines."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        pass

    async def ask(self, request: Question, server: str) -> Answer:
        assert isinstance(request, types.ElicitRequest)
        self.asked.append(request.params.message)
        return types.ElicitResult(action="decline")
