"""A client of the MCP server in this process, that notes what it is told and answers what it is asked."""

import json
import sys
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
from quartermaster.serving.mcp.calling_client import CallingClient, InputAnswer, InputRequest
from quartermaster.serving.mcp.session import Session
from tests.quartermaster.serving.mcp.conftest import HERE, plain, text_of

MODES = ["auto", "legacy"]  # the protocol of 2026, and that of 2025


def asking(timeout_s: float = 20.0, **settings: Any) -> Upstream:
    """The server of 2025 that asks too much."""
    return plain("asking", timeout_s, name="asking", **settings)


def clerk(timeout_s: float = 20.0, protocol: str = "stdio", **settings: Any) -> Upstream:
    """The real server over stdio, of 2026 unless the protocol is `2025`."""
    command = (sys.executable, str(HERE / "clerk.py"), protocol)
    return Upstream("clerk", command=command, provider="clerk", timeout_s=timeout_s, **settings)


@dataclass
class Desk:
    """What a client was told and asked, and its calls. `name` is its answer to a form."""

    name: str = "Ada"
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    questions: list[Any] = field(default_factory=list)
    sampled: list[Any] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    logs: list[types.LoggingMessageNotificationParams] = field(default_factory=list)
    _client: Client | None = None

    @property
    def client(self) -> Any:
        assert self._client is not None
        return self._client

    async def elicited(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.append(params)
        assert isinstance(params, types.ElicitRequestFormParams)
        properties = params.requested_schema["properties"]
        content: dict[str, Any] = {"yes": True} if "yes" in properties else {"name": self.name}
        return types.ElicitResult(action="accept", content=content)

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.sampled.append(params)
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="four"), model="m"
        )

    async def heard(self, message: object) -> None:
        self.messages.append(type(message).__name__)

    async def logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params)

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
    target: Server[Any] | Any, mode: str = "auto", *, answers: bool = True, name: str = "Ada", **settings: Any
) -> AsyncIterator[Desk]:
    """A connected client. Without `answers`, it can be asked nothing."""
    desk = Desk(name)
    able: dict[str, Any] = {"elicitation_callback": desk.elicited, "sampling_callback": desk.sample} if answers else {}
    async with Client(
        target, mode=mode, message_handler=desk.heard, logging_callback=desk.logged, **able, **settings
    ) as client:
        desk._client = client
        yield desk


async def until(true: Callable[[], Any], pause: float = 0.01) -> None:
    """Wait until something holds, or what is awaited for it, a minute at most. Each pause is longer than the last."""
    with anyio.fail_after(60):
        while not (await found if isawaitable(found := true()) else found):
            await anyio.sleep(pause)
            pause = min(1.5 * pause, 0.5)


def run_out(session: Session | None) -> None:
    """Let the time of the calls under way in a session be over. Its server has all the time that it needs to start."""
    assert session is not None and session.calls._calls
    for call in session.calls._calls:
        call.scope.deadline = 0.0


class Noted(CallingClient):
    """A calling client that notes what it is asked, and confirms if its name is "a"."""

    def __init__(self, name: str) -> None:
        self.name = self.owner = name
        self.asked: list[str] = []
        self.context = None

    async def ask(self, request: InputRequest) -> InputAnswer:
        assert isinstance(request, types.ElicitRequest)
        self.asked.append(request.params.message)
        await anyio.sleep(0.05)  # so that both are asked before either answers
        return types.ElicitResult(action="accept", content={"yes": self.name == "a"})
