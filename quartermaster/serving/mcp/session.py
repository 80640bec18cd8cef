"""An open session with an upstream: its lists within their bounds, and the calls under way."""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import mcp_types as types
import msgspec
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext

from quartermaster.serving.mcp.calling_client import CallingClient, InputAnswer, InputRequest, refused
from quartermaster.serving.mcp.transports import http_transport, stdio_transport
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from router.tools.trust import visible_value

Definition = Mapping[str, Any]
ListName = Literal["tools", "resources", "resource templates", "prompts"]

_logger = logging.getLogger("quartermaster.serving")
KEYS: Mapping[ListName, str] = {
    "tools": "name",
    "resources": "uri",
    "resource templates": "uriTemplate",
    "prompts": "name",
}
# What one call may send. A server that sends more is not believed to work, so the rest is dropped or refused.
_MAX_QUESTIONS = 20
_PROGRESS_INTERVAL_S = 0.05
_MAX_MESSAGE = 300  # characters of a progress message
_NO_HANDSHAKE = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND)
_LONGEST = 20  # times `timeout_s`, for a call whose progress restarts its clock


@dataclass(slots=True, eq=False)
class Session:
    """A session with an upstream.

    `complete` says whether `tools` are all of the server's. `ended` is set when the server has ended, or to end it;
    `closed` once the session is cleaned up; `stale` when the server's tools have changed since they were read.
    """

    upstream: Upstream
    client: Client
    ended: anyio.Event
    stale: anyio.Event = field(default_factory=anyio.Event)
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)
    complete: bool = True
    _scopes: set[anyio.CancelScope] = field(default_factory=set)
    _asked_client: CallingClient | None = None
    _questions: int = 0
    _asking: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def name(self) -> str:
        """Return the server's own name, which a build uses as the provider of its tools unless it has a label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    async def read_tools(self) -> None:
        """Read the server's tools. Raises as `listed` does."""
        self.tools, self.complete = await self._read("tools")

    async def listed(self, what: ListName) -> Mapping[str, Definition]:
        """Return the items of a list by their name or URI, up to `max_tools` of them.

        Raises MCPError, and UpstreamFailed for a list that takes too many pages, bytes or seconds.
        """
        offered = self.client.server_capabilities
        if (offered.prompts if what == "prompts" else offered.resources) is None:
            return {}
        return (await self._read(what))[0]

    async def _read(self, what: ListName) -> tuple[dict[str, Definition], bool]:
        limits = self.upstream
        try:
            with anyio.fail_after(limits.timeout_s):
                items, complete = await self._read_pages(what)
        except TimeoutError:
            raise UpstreamFailed(f"its list of {what} takes more than {limits.timeout_s:g} s (timeout_s)") from None
        if not complete:
            _logger.warning(
                "the MCP server %r lists more than %s %s (max_tools): the first %s serve, the others are left out",
                limits.name,
                f"{limits.max_tools:,}",
                what,
                f"{len(items):,}",
            )
        return items, complete

    async def _read_pages(self, what: ListName) -> tuple[dict[str, Definition], bool]:
        """Return the items of a list, and whether they are all."""
        limits, items, size = self.upstream, dict[str, Definition](), 0
        name = what.replace(" ", "_")
        read = getattr(self.client, f"list_{name}")
        cursors: set[str | None] = set()
        cursor: str | None = None
        while cursor not in cursors and len(cursors) < limits.max_pages:
            cursors.add(cursor)
            page = await read(cursor=cursor, cache_mode="bypass")
            for row in getattr(page, name):
                definition = row.model_dump(by_alias=True, exclude_none=True, mode="json")
                key = definition[KEYS[what]]
                if len(items) >= limits.max_tools and key not in items:
                    return items, False
                items[key] = definition
                size += len(msgspec.json.encode(definition))
                if size > limits.max_list_bytes:
                    raise UpstreamFailed(f"its {what} have more than {limits.max_list_bytes:,} bytes (max_list_bytes)")
            cursor = page.next_cursor
            if cursor is None:
                return items, True
        pages = f"{len(cursors):,} pages with {len(items):,} {what} so far (max_pages is {limits.max_pages:,})"
        raise UpstreamFailed(f"the server's list of {what} has no end: {pages}")

    @contextmanager
    def call(self, client: CallingClient | None) -> Iterator["CallUnderWay"]:
        """Bound a call. Raises MCPError (REQUEST_TIMEOUT) where it takes longer than its clock allows."""
        if not self._scopes:
            self._questions = 0
        self._asked_client = client or self._asked_client
        under_way = CallUnderWay(self, client)
        self._scopes.add(under_way.scope)
        try:
            with under_way.scope:
                yield under_way
        finally:
            self._scopes.discard(under_way.scope)
        if under_way.scope.cancelled_caught:
            raise MCPError(types.REQUEST_TIMEOUT, "the call took too long")

    async def ask(self, request: InputRequest) -> InputAnswer:
        """Return the client's answer to a question of the server, or why there is none.

        Questions come one after the other. The time that the client takes counts for no call of this server.
        """
        client = self._asked_client
        if client is None or not self._scopes:
            return refused("nobody can be asked: no call is under way")
        if self._questions >= _MAX_QUESTIONS:
            return refused(f"one call may ask {_MAX_QUESTIONS} questions, and has done so")
        self._questions += 1
        async with self._asking:
            for scope in self._scopes:
                scope.deadline = float("inf")
            try:
                return await client.ask(request, self.upstream.name)
            finally:
                for scope in self._scopes:
                    scope.deadline = anyio.current_time() + self.upstream.timeout_s

    @property
    def is_asking(self) -> bool:
        """Return whether the client is asked something now."""
        return self._asking.locked()


class CallUnderWay:
    """A call at an upstream. Its clock stops while the client is asked, and starts anew with each progress."""

    def __init__(self, session: Session, client: CallingClient | None) -> None:
        now = anyio.current_time()
        self._session, self._client = session, client
        self._timeout_s = session.upstream.timeout_s
        self.scope = anyio.CancelScope(deadline=now + self._timeout_s)
        self._latest = now + _LONGEST * self._timeout_s
        self._last_progress, self._last_time = -1.0, 0.0
        self._sending = False

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass progress on, at most twenty times a second, and never faster than the client reads it."""
        now = anyio.current_time()
        if not self._session.is_asking:
            self.scope.deadline = min(now + self._timeout_s, self._latest)
        too_soon = now - self._last_time < _PROGRESS_INTERVAL_S and not (total is not None and progress >= total)
        # It must grow; a client may take anything else for an error.
        if self._client is None or self._sending or too_soon or progress <= self._last_progress:
            return
        self._last_progress, self._last_time = progress, now
        self._sending = True
        try:
            shown = None if message is None else str(visible_value(message))[:_MAX_MESSAGE]
            await self._client.report_progress(progress, total, shown)
        finally:
            self._sending = False


@asynccontextmanager
async def open_session(upstream: Upstream) -> AsyncIterator[Session]:
    """Yield a session with its tools read. A command's process ends with it, including its child processes.

    It is one of the 2025 protocol where the server has that: by that of 2026, a server cannot ask during a call.
    """
    ended = anyio.Event()
    sessions: list[Session] = []  # none until the client is made, which needs these functions

    async def on_message(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            for session in sessions:
                session.stale.set()

    async def on_elicitation(_: ClientRequestContext, params: types.ElicitRequestParams) -> Any:
        return await sessions[0].ask(types.ElicitRequest(params=params))

    async def on_sampling(_: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return await sessions[0].ask(types.CreateMessageRequest(params=params))

    def client(mode: str) -> Client:
        return Client(
            stdio_transport(upstream, ended) if upstream.url is None else http_transport(upstream),
            mode=mode,
            read_timeout_seconds=upstream.timeout_s,
            message_handler=on_message,
            elicitation_callback=on_elicitation if upstream.may_ask else None,
            sampling_callback=on_sampling if upstream.may_ask else None,
        )

    async with AsyncExitStack() as stack:
        try:
            connected = await stack.enter_async_context(client("legacy"))
        except Exception as error:  # exception groups of the transport
            cause = cause_of(error)
            if not isinstance(cause, MCPError) or cause.code not in _NO_HANDSHAKE:
                raise
            ended = anyio.Event()
            connected = await stack.enter_async_context(client("auto"))
        session = Session(upstream, connected, ended)
        sessions.append(session)
        await session.read_tools()
        yield session


def cause_of(error: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
