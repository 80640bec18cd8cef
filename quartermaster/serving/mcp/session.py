"""An open session with an upstream: its transport, its lists, the calls under way and its end."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from quartermaster.serving.mcp.calling_client import InputAnswer
from quartermaster.serving.mcp.calls_under_way import CallsUnderWay
from quartermaster.serving.mcp.pages import Definition, read_pages
from quartermaster.serving.mcp.transports import http_transport, sse_transport, stdio_transport
from quartermaster.serving.mcp.upstream import Upstream

__all__ = ["Definition", "ListName", "Session", "open_session"]

ListName = Literal["resources", "resource templates", "prompts"]

_logger = logging.getLogger("quartermaster.serving")
_RETRY_LISTEN_S = 5.0
_LIST_KEPT_S = 60.0  # of servers that do not say when a list changes
_KEYS: Mapping[ListName, str] = {"resources": "uri", "resource templates": "uriTemplate", "prompts": "name"}


class _RepeatableEvent:
    """An event that resets when awaited; several sets before a wait count as one."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event = anyio.Event()


@dataclass(slots=True)
class Session:
    """A session with an upstream.

    `complete` says whether `tools` are all of the server's. `ended` is set when the server has ended, or to end it;
    `closed` once the session is cleaned up; `stale` when the server's tools have changed since they were read, and
    `others_stale` when its resources or prompts have.
    """

    client: Client
    upstream: Upstream
    ended: anyio.Event
    stale: _RepeatableEvent
    others_stale: _RepeatableEvent
    calls: CallsUnderWay
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)
    complete: bool = True
    changed: set[str] = field(default_factory=set)
    _lists: dict[ListName, tuple[float, Mapping[str, Definition]]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the server's own name, which a build uses as the provider of its tools unless it has a label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    @property
    def is_modern(self) -> bool:
        """Return whether the server speaks the 2026 protocol."""
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def read_tools(self) -> None:
        """Read the pages of the server's tools. Raises as `read_pages` does."""

        async def page(cursor: str | None) -> tuple[Sequence[BaseModel], str | None]:
            answer = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            return answer.tools, answer.next_cursor

        self.tools, self.complete = await read_pages(self.upstream, "tools", "name", page)

    async def listed(self, what: ListName) -> Mapping[str, Definition]:
        """Return the server's resources, templates or prompts, read anew after a change and after a minute.

        Raises as `read_pages` does.
        """
        offered = self.client.server_capabilities
        if (offered.prompts if what == "prompts" else offered.resources) is None:
            return {}
        read_at, known = self._lists.get(what, (0.0, None))
        if known is None or anyio.current_time() - read_at > _LIST_KEPT_S:
            read_at = anyio.current_time()
            known, _ = await read_pages(self.upstream, what, _KEYS[what], lambda cursor: self._page(what, cursor))
            self._lists[what] = (read_at, known)
        return known

    async def _page(self, what: ListName, cursor: str | None) -> tuple[Sequence[BaseModel], str | None]:
        if what == "prompts":
            prompts = await self.client.list_prompts(cursor=cursor, cache_mode="bypass")
            return prompts.prompts, prompts.next_cursor
        if what == "resources":
            resources = await self.client.list_resources(cursor=cursor, cache_mode="bypass")
            return resources.resources, resources.next_cursor
        templates = await self.client.list_resource_templates(cursor=cursor, cache_mode="bypass")
        return templates.resource_templates, templates.next_cursor

    def note_change(self, message: object) -> None:
        """Take note of a notification, or an event of a subscription, that a list of the server's changed."""
        if isinstance(message, types.ToolListChangedNotification | ToolsListChanged):
            self.stale.set()
        elif isinstance(message, types.PromptListChangedNotification | PromptsListChanged):
            self._forget("prompts")
        elif isinstance(message, types.ResourceListChangedNotification | ResourcesListChanged):
            self._forget("resources", "resource templates")

    def _forget(self, *lists: ListName) -> None:
        for what in lists:
            self._lists.pop(what, None)
        self.changed.add(lists[0])
        self.others_stale.set()

    async def listen(self) -> None:
        """Subscribe to changes under the 2026 protocol; older servers notify without a subscription."""
        offered = self.client.server_capabilities
        tools = bool(offered.tools and offered.tools.list_changed)
        prompts = bool(offered.prompts and offered.prompts.list_changed)
        resources = bool(offered.resources and offered.resources.list_changed)
        if not self.is_modern or not (tools or prompts or resources):
            return
        while True:
            try:
                async with self.client.listen(
                    tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
                ) as events:
                    self.stale.set()  # changes before the subscription are not notified
                    async for event in events:
                        self.note_change(event)
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                _logger.info("changes of its lists cannot be received for now: %s", error)
            await anyio.sleep(_RETRY_LISTEN_S)


@asynccontextmanager
async def open_session(upstream: Upstream) -> AsyncIterator[Session]:
    """Yield a session with its tools read. A command's process ends with it, including its child processes."""
    ended, calls = anyio.Event(), CallsUnderWay(upstream.name, upstream.timeout_s)
    sessions: list[Session] = []  # none until the client is made, which needs these functions

    async def on_message(message: types.ServerNotification | Exception) -> None:
        for session in sessions:
            session.note_change(message)

    async def on_elicitation(context: ClientRequestContext, params: types.ElicitRequestParams) -> Any:
        return await calls.ask(types.ElicitRequest(params=params))

    async def on_sampling(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> InputAnswer:
        return await calls.ask(types.CreateMessageRequest(params=params))

    transport: Any
    if upstream.url is None:
        transport = stdio_transport(upstream, ended)
    else:
        transport = sse_transport(upstream) if upstream.sse else http_transport(upstream)
    client = Client(
        transport,
        read_timeout_seconds=upstream.timeout_s,
        message_handler=on_message,
        logging_callback=calls.on_log,
        elicitation_callback=on_elicitation if upstream.may_ask else None,
        sampling_callback=on_sampling if upstream.may_ask else None,  # type: ignore[arg-type]
    )
    async with client:
        session = Session(client, upstream, ended, _RepeatableEvent(), _RepeatableEvent(), calls)
        sessions.append(session)
        await session.read_tools()
        yield session
