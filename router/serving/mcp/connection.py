"""One upstream's connection: opened by the first call, kept, opened anew after it was lost."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup, TaskStatus
from mcp import MCPError

from router.record import ToolRecord
from router.serving.mcp.session import Definition, Session, opened
from router.serving.mcp.upstream import Upstream, UpstreamFailed
from router.tools.definitions.json_values import replace_unstorable

OnTools = Callable[[str, Sequence[Definition]], Awaitable[None]]

_logger = logging.getLogger("router.serving")
_LONGEST = 300
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_SESSION_GONE = "Session terminated"  # the client's own word for a 404 to a session: nothing was carried out
_SETTLED_S = 0.1  # a server that changes a hundred tools says so a hundred times
_SIGN_OF_LIFE_S = 5.0
_AT_RUN_TIME = "registered"  # the origin of what was registered in the running router


class _NotSent(UpstreamFailed):
    """The call did not reach the server: it may be sent again."""


class Connection:
    """Calls a server's tools. Its calls share one session, and none waits for another server.

    `on_tools` is told the label of the server's tools, and the tools as it defines them, whenever they are others than
    those that it listed first; with `tell_first`, those too.
    """

    def __init__(
        self, upstream: Upstream, tasks: TaskGroup, on_tools: OnTools | None = None, *, tell_first: bool = False
    ) -> None:
        self.upstream = upstream
        self._tasks = tasks
        self._on_tools = on_tools
        self._told: Mapping[str, Definition] | None = {} if tell_first else None
        self._opening = anyio.Lock()
        self._session: Session | None = None
        self._lost: BaseException | None = None
        self._own_name: str | None = None

    @property
    def label(self) -> str | None:
        """The provider of the server's tools; without one that was given, its own name, once it was open."""
        return self.upstream.provider or self._own_name

    def serves(self, record: ToolRecord) -> bool:
        """Whether a tool of the catalog is one of this server's, or one that the router serves since it listed it."""
        listed = record.origin.file == _AT_RUN_TIME and record.provider == self.label
        return listed or self.upstream.serves(record)

    async def tools(self) -> Mapping[str, Definition]:
        """The server's tools by name. Raises UpstreamFailed where it cannot be asked."""
        return (await self._opened()).tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """What a tool answers, its own errors among it. Raises UpstreamFailed where no answer comes."""
        session = await self._opened()
        if name not in session.tools:
            await self._read_again(session)  # a newer catalog may know it, though the server said nothing
        if name not in session.tools:
            raise UpstreamFailed(f"{self} no longer offers the tool {name!r}: search again, or rebuild the catalog")
        try:
            return await self._ask(session, name, arguments)
        except _NotSent:
            return await self._ask(await self._opened(), name, arguments)

    async def _read_again(self, session: Session) -> None:
        try:
            await session.read_tools()
        except MCPError as error:
            raise await self._failure(session, error) from error

    async def _ask(self, session: Session, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        try:
            return await session.client.call_tool(name, dict(arguments))
        except MCPError as error:
            raise await self._failure(session, error) from error
        except (RuntimeError, ValueError) as error:  # against the tool's output schema, or the protocol
            raise UpstreamFailed(f"{self} gave an answer that cannot be used: {said(str(error))}") from error

    async def _failure(self, session: Session, error: MCPError) -> UpstreamFailed:
        gone = error.code == types.INVALID_REQUEST and error.message == _SESSION_GONE
        if gone or error.code == types.CONNECTION_CLOSED:
            session.ended.set()
            await session.closed.wait()
        if gone or isinstance(self._lost, httpx2.ConnectError | httpx2.ConnectTimeout):
            return _NotSent(f"{self} cannot be reached: is it running?")
        if error.code == types.CONNECTION_CLOSED:
            return UpstreamFailed(
                f"{self} ended during the call, which it may have carried out or not; the next call starts it again"
            )
        if error.code == types.REQUEST_TIMEOUT:
            late = f"{self} did not answer within {self.upstream.timeout_s:g} s (timeout_s)"
            if await _alive(session):
                return UpstreamFailed(f"{late}; it may still carry the call out")
            session.ended.set()
            return UpstreamFailed(f"{late}, and gives no sign of life; the next call starts it again")
        return UpstreamFailed(f"{self} refused the call: {said(error.message)}")

    async def _opened(self) -> Session:
        async with self._opening:
            if self._session is not None:
                if not self._session.ended.is_set():
                    return self._session
                await self._session.closed.wait()
            try:
                with anyio.fail_after(self.upstream.timeout_s):
                    self._session = session = await self._tasks.start(self._hold)
            except TimeoutError as error:
                limit = f"{self.upstream.timeout_s:g} s (timeout_s)"
                raise UpstreamFailed(f"{self} did not start and list its tools within {limit}") from error
            except Exception as error:  # groups of whatever its transport met
                raise UpstreamFailed(f"{self} cannot be reached: {_reason(error)}") from error
            assert isinstance(session, Session)
            self._own_name = replace_unstorable(session.name).strip()
            return session

    async def _hold(self, *, task_status: TaskStatus[Session]) -> None:
        """Keep a session until it ends. It is entered and left in this one task, as its task groups ask."""
        session: Session | None = None
        self._lost = None
        try:
            async with opened(self.upstream) as session, anyio.create_task_group() as listening:
                task_status.started(session)
                listening.start_soon(session.listen)
                listening.start_soon(self._follow, session)
                await session.ended.wait()
                listening.cancel_scope.cancel()
        except Exception as error:
            if session is None:
                raise  # in `_opened`
            self._lost = _cause(error)
            _logger.warning("%s was lost: %s", self, _reason(error), exc_info=_logger.isEnabledFor(logging.DEBUG))
        finally:
            if session is not None:
                session.ended.set()
                session.closed.set()

    async def _follow(self, session: Session) -> None:
        """Tell the tools whenever they changed."""
        while True:
            if self._on_tools is not None and self._told not in (None, session.tools):
                try:
                    await self._on_tools(self.label or session.name, list(session.tools.values()))
                except Exception:  # of whoever listens: the server itself is well, and is called as before
                    _logger.exception("%s: its tools could not be updated", self)
            self._told = session.tools
            await session.stale.wait()
            await anyio.sleep(_SETTLED_S)
            try:
                await session.read_tools()
            except (MCPError, UpstreamFailed) as error:
                _logger.warning("%s: the change of its tools cannot be read: %s", self, _reason(error))

    def __str__(self) -> str:
        return f"the MCP server {self.upstream.name!r}"


def said(text: str) -> str:
    """What a server said, fit for a message: one line, bounded, nothing hidden."""
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


async def _alive(session: Session) -> bool:
    """Whether the server answers at all."""
    with anyio.move_on_after(_SIGN_OF_LIFE_S):
        try:
            await session.read_tools()
        except MCPError as error:
            return error.code not in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED)
        return True
    return False


def _cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _reason(error: BaseException) -> str:
    """What went wrong, without the address or the arguments, which may hold secrets."""
    cause = _cause(error)
    if isinstance(cause, FileNotFoundError):
        return "there is no such program beside this Python or on PATH"
    return said(str(cause)) if isinstance(cause, MCPError | UpstreamFailed) else type(cause).__name__
