"""Tells clients that a list of this server's changed, so that they read it anew.

A client of the 2026 protocol subscribes (`subscriptions/listen`), over stdio or HTTP. One of the 2025 protocol is told
over stdio; over HTTP it has no session here, so it is not told.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from quartermaster.serving.profiles import Callers

List = Literal["tools", "resources", "prompts"]
_EVENTS: Mapping[List, ServerEvent] = {
    "tools": ToolsListChanged(),
    "resources": ResourcesListChanged(),
    "prompts": PromptsListChanged(),
}
_SEND: Mapping[List, Callable[[ServerSession], Awaitable[None]]] = {
    "tools": ServerSession.send_tool_list_changed,
    "resources": ServerSession.send_resource_list_changed,
    "prompts": ServerSession.send_prompt_list_changed,
}
# Each subscription over HTTP occupies one of the requests that the server answers at a time (64 by default).
_MAX_SUBSCRIPTIONS = 32
_BETWEEN_S = 1.0  # of two notifications: servers that change all the time are told of together
_LOOK_S = 2.0  # a changed file of profiles is noticed by the next request, or after this


class ListChanges:
    """Notifies the clients of one server. `lists` are those that it has."""

    def __init__(self, lists: tuple[List, ...]) -> None:
        self._lists = lists
        self._bus = InMemorySubscriptionBus()
        self._serve = ListenHandler(self._bus, max_subscriptions=_MAX_SUBSCRIPTIONS)
        self._session: ServerSession | None = None
        self._changed: set[List] = set()
        self._stirred: anyio.Event | None = None  # of the event loop that serves

    async def listen(
        self, context: ServerRequestContext[Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a subscription to the lists that there are. Single resources cannot be subscribed to."""
        wanted = params.notifications
        served = types.SubscriptionFilter(
            tools_list_changed=wanted.tools_list_changed if "tools" in self._lists else None,
            resources_list_changed=wanted.resources_list_changed if "resources" in self._lists else None,
            prompts_list_changed=wanted.prompts_list_changed if "prompts" in self._lists else None,
        )
        return await self._serve(context, params.model_copy(update={"notifications": served}))

    def note(self, context: ServerRequestContext[Any]) -> None:
        """Remember the client of a request over stdio by the 2025 protocol: it is told without a subscription."""
        if context.request is None and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._session = context.session

    def tell(self, *lists: List) -> None:
        """Have clients told that these lists changed."""
        self._changed.update(name for name in lists if name in self._lists)
        if self._stirred is not None:
            self._stirred.set()

    async def run(self) -> None:
        """Notify clients, until cancelled."""
        while True:
            if not self._changed:
                self._stirred = anyio.Event()
                await self._stirred.wait()
            changed, self._changed = self._changed, set()
            for name in sorted(changed):
                await self._bus.publish(_EVENTS[name])
                if self._session is not None:
                    await _SEND[name](self._session)
            await anyio.sleep(_BETWEEN_S)

    async def watch(self, callers: Callers) -> None:
        """Notify clients when the profiles change: who may call, and which servers' resources are within a profile."""
        known = callers.profiles
        while True:
            await anyio.sleep(_LOOK_S)
            now = callers.profiles
            if now is known:
                continue
            calls_before = {name: profile.call for name, profile in known.items()}
            if calls_before != {name: profile.call for name, profile in now.items()}:
                self.tell("tools")
            self.tell("resources", "prompts")
            known = now
