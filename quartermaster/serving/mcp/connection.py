"""The connection to one upstream: opened by the first call, kept, reopened after a loss."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client, MCPError
from mcp.shared.dispatcher import ProgressFnT

from quartermaster.serving.mcp.client import CallingClient, CallsUnderWay
from quartermaster.serving.mcp.session import Definition, Session, cause_of, open_session
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from router.record import Kind, ToolRecord
from router.tools.definitions.json_values import replace_unstorable
from router.tools.trust.characters import strip_hidden

_Answer = TypeVar("_Answer")
# Gets the label of a server's tools and their definitions.
OnTools = Callable[[str, Sequence[Definition]], Awaitable[None]]
_Send = Callable[[Client, ProgressFnT], Awaitable[_Answer]]

_logger = logging.getLogger("quartermaster.serving")
_SESSION_GONE = "Session terminated"  # the MCP client's message for a 404 to a session: nothing was carried out
_MAX_CALL_S = 86_400.0  # for the SDK's own clock, which cannot be stopped: a call under way has its own
_PING_TIMEOUT_S = 5.0
_SETTLE_S = 0.1  # a server that changes a hundred tools sends a hundred notifications
_BETWEEN_LISTS_S = 1.0  # a server that says at each moment that its list changed is asked for it this seldom
_MAX_MESSAGE = 300  # characters


class _CallNotSent(UpstreamFailed):
    """Raised when a call did not reach the server, so that it may be sent again."""


class Connection:
    """Calls a server's tools. Calls share one session, and never wait for another server.

    `on_tools` is called whenever the list of tools changes; with `report_first`, also with the first list. `tasks`
    runs the session in the background. A server without a configured provider could take any, so what it lists changes
    no tool; its tools of the catalog are called.
    """

    def __init__(
        self, upstream: Upstream, tasks: TaskGroup, on_tools: OnTools | None = None, *, report_first: bool = False
    ) -> None:
        self.upstream = upstream
        self._tasks = tasks
        self._on_tools = on_tools
        self._reported: Mapping[str, Definition] | None = {} if report_first else None
        self._calls = CallsUnderWay(upstream)
        self._opening = anyio.Lock()
        self._session: Session | None = None
        self._lost: BaseException | None = None

    async def open(self) -> Session:
        """Return the session, opened unless it is. Raises UpstreamFailed where the server cannot be reached."""
        async with self._opening:
            if self._session is not None:
                if not self._session.ended.is_set():
                    return self._session
                await self._session.closed.wait()
            try:
                with anyio.fail_after(self.upstream.timeout_s):
                    self._session = session = await self._tasks.start(self._run_session)
            except TimeoutError as error:
                limit = f"{self.upstream.timeout_s:g} s (timeout_s)"
                raise UpstreamFailed(f"{self} did not start and list its tools within {limit}") from error
            except Exception as error:  # exception groups of the transport
                problem = "cannot be used" if isinstance(cause_of(error), UpstreamFailed) else "cannot be reached"
                raise UpstreamFailed(f"{self} {problem}: {_reason_of(error)}") from error
            assert isinstance(session, Session)
            return session

    async def offers(self, record: ToolRecord) -> bool:
        """Return whether the server has a tool. One without a label is known by its own name, as in a build."""
        session = await self.open()
        label = self.upstream.provider or replace_unstorable(session.name).strip()
        return bool(label == record.provider and (record.kind is Kind.PROMPT or record.name in session.tools))

    async def call(
        self, name: str, arguments: Mapping[str, Any], client: CallingClient | None = None
    ) -> types.CallToolResult:
        """Return the result of a tool, which may be its own error. Raises UpstreamFailed if there is no result."""
        session = await self.open()
        if name not in session.tools and session.complete:
            # A newer catalog may know it, though the server did not notify.
            async with self._explained(session, "a list"):
                await session.read_tools()
        if name not in session.tools and session.complete:
            raise UpstreamFailed(f"{self} no longer offers the tool {name!r}: search again, or rebuild the catalog")
        return await self._send(
            client, lambda to, on_progress: to.call_tool(name, dict(arguments), _MAX_CALL_S, on_progress)
        )

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], client: CallingClient | None = None
    ) -> types.GetPromptResult:
        """Return a prompt. Raises UpstreamFailed if there is no answer."""
        return await self._send(client, lambda to, _: to.get_prompt(name, dict(arguments)))

    async def _send(self, client: CallingClient | None, send: "_Send[_Answer]") -> _Answer:
        """Return the answer to a message, which is sent again where it did not reach the server."""
        try:
            return await self._send_once(client, send)
        except _CallNotSent:
            return await self._send_once(client, send)

    async def _send_once(self, client: CallingClient | None, send: "_Send[_Answer]") -> _Answer:
        session = await self.open()
        async with self._explained(session, "an answer"):
            with self._calls.begin(client) as on_progress:
                return await send(session.client, on_progress)
        raise AssertionError("a call ends by an answer or an error")

    @asynccontextmanager
    async def _explained(self, session: Session, what: str) -> AsyncIterator[None]:
        """Raise UpstreamFailed for what goes wrong at the server."""
        try:
            yield
        except MCPError as error:
            raise await self._failure(session, error) from error
        except UpstreamFailed as error:
            raise UpstreamFailed(f"{self}: {error}") from error
        except (RuntimeError, ValueError) as error:  # violates the tool's output schema, or the protocol
            raise UpstreamFailed(f"{self} gave {what} that cannot be used: {printable(str(error))}") from error

    async def _failure(self, session: Session, error: MCPError) -> UpstreamFailed:
        """Return what to say of a failure, and end the session where it is lost."""
        closed = error.code == types.CONNECTION_CLOSED
        gone = error.code == types.INVALID_REQUEST and error.message == _SESSION_GONE
        if gone or closed:
            session.ended.set()
            await session.closed.wait()
        if gone or isinstance(self._lost, httpx2.ConnectError | httpx2.ConnectTimeout):
            return _CallNotSent(f"{self} cannot be reached: is it running?")
        if closed and isinstance(self._lost, UpstreamFailed):
            return UpstreamFailed(f"{self} was ended: {self._lost}; it may have carried the call out or not")
        if closed:
            maybe = "which it may have carried out or not; the next call starts it again"
            return UpstreamFailed(f"{self} ended during the call, {maybe}")
        if error.code == types.PARSE_ERROR:
            return UpstreamFailed(f"{self} gave an answer that cannot be used: {printable(error.message)}")
        if error.code == types.REQUEST_TIMEOUT:
            timed_out = f"{self} did not answer within {self.upstream.timeout_s:g} s (timeout_s)"
            if await _responds(session):
                return UpstreamFailed(f"{timed_out}; it may still carry the call out")
            session.ended.set()
            return UpstreamFailed(f"{timed_out}, and gives no sign of life; the next call starts it again")
        return UpstreamFailed(f"{self} refused the call: {printable(error.message)}")

    async def _run_session(self, *, task_status: TaskStatus[Session]) -> None:
        """Run a session until it ends. One task enters and leaves it, as its task groups require."""
        session: Session | None = None
        self._lost = None
        try:
            async with open_session(self.upstream, self._calls.ask) as session, anyio.create_task_group() as listeners:
                task_status.started(session)
                listeners.start_soon(self._report_tools, session)
                await session.ended.wait()
                listeners.cancel_scope.cancel()
        except Exception as error:  # exception groups of the transport
            if session is None:
                raise  # to `open`
            self._lost = cause_of(error)
            _logger.warning("%s was lost: %s", self, _reason_of(error), exc_info=_logger.isEnabledFor(logging.DEBUG))
        finally:
            if session is not None:
                session.ended.set()
                session.closed.set()

    async def _report_tools(self, session: Session) -> None:
        """Call `on_tools` whenever the server's tools change."""
        while True:
            if self._on_tools is not None and self.upstream.provider and self._reported not in (None, session.tools):
                try:
                    await self._on_tools(self.upstream.provider, list(session.tools.values()))
                except Exception:  # of the listener: the server itself works, and is called as before
                    _logger.exception("%s: its tools could not be updated", self)
            self._reported = session.tools
            await session.stale.wait()
            await anyio.sleep(_SETTLE_S)
            session.stale = anyio.Event()
            try:
                await session.read_tools()
            except (MCPError, UpstreamFailed) as error:
                _logger.warning("%s: the change of its tools cannot be read: %s", self, _reason_of(error))
            await anyio.sleep(_BETWEEN_LISTS_S)

    def __str__(self) -> str:
        return f"the MCP server {self.upstream.name!r}"


async def _responds(session: Session) -> bool:
    """Return whether the server answers at all."""
    with anyio.move_on_after(_PING_TIMEOUT_S):
        try:
            await session.read_tools()
        except MCPError as error:
            return error.code not in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED)
        return True
    return False


def printable(text: str) -> str:
    """Return a server's text for use in a message: one line, bounded, without invisible characters."""
    text = " ".join(strip_hidden(text[: 4 * _MAX_MESSAGE]).split())
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"


def _reason_of(error: BaseException) -> str:
    """Return the reason of an error, without the address or the arguments, which may hold secrets."""
    cause = cause_of(error)
    if isinstance(cause, FileNotFoundError):
        return "there is no such program beside this Python or on PATH"
    return printable(str(cause)) if isinstance(cause, MCPError | UpstreamFailed) else type(cause).__name__
