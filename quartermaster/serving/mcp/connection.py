"""The connection to one upstream: opened by the first call, kept, reopened after a loss."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup, TaskStatus
from mcp import MCPError

from quartermaster.serving.mcp.calling_client import CALLING_CLIENT
from quartermaster.serving.mcp.calls_under_way import CURRENT_CALL, CallUnderWay
from quartermaster.serving.mcp.change_reports import ChangeReports, OnChange, OnTools
from quartermaster.serving.mcp.failure_texts import cause_of, printable, reason_of
from quartermaster.serving.mcp.session import Definition, ListName, Session, open_session
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from router.record import ToolRecord
from router.tools.definitions.json_values import replace_unstorable

_Answer = TypeVar("_Answer")
# Returns whether a server without a configured provider may call itself so.
MayClaim = Callable[[Upstream, str], bool]

_logger = logging.getLogger("quartermaster.serving")
_SESSION_GONE = "Session terminated"  # the MCP client's message for a 404 to a session: nothing was carried out
_MAX_CALL_S = 86_400.0  # for the SDK's own clock, which cannot be stopped: a call under way has its own
_PING_TIMEOUT_S = 5.0
RUN_TIME_ORIGIN = "registered"  # the origin of tools that were registered in the running router


class _CallNotSent(UpstreamFailed):
    """Raised when a call did not reach the server, so that it may be sent again."""


class Connection:
    """Calls a server's tools. Calls share one session, and never wait for another server.

    `on_tools` receives the label of the server's tools and their definitions whenever the list changes; with
    `report_first`, also the first list. `tasks` runs the session in the background. A server under whose own name
    `may_claim` refuses to list tools changes none; its tools of the catalog are called as before. `on_change` is told
    when the list of the server's resources or prompts changes.
    """

    def __init__(
        self,
        upstream: Upstream,
        tasks: TaskGroup,
        on_tools: OnTools | None = None,
        *,
        report_first: bool = False,
        may_claim: MayClaim | None = None,
        on_change: OnChange | None = None,
    ) -> None:
        self.upstream = upstream
        self._tasks = tasks
        self._reports = ChangeReports(str(self), on_tools, on_change, report_first=report_first)
        self._may_claim = may_claim
        self._opening = anyio.Lock()
        self._session: Session | None = None
        self._lost: BaseException | None = None
        self._server_name: str | None = None

    @property
    def label(self) -> str | None:
        """Return the provider of the server's tools, by default the server's own name, known once it was open."""
        return self.upstream.provider or self._server_name

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a tool is one of this server's, from the catalog or registered since the server listed it."""
        registered = record.origin.file == RUN_TIME_ORIGIN and record.provider == self.label
        return registered or self.upstream.serves(record)

    async def tools(self) -> Mapping[str, Definition]:
        """Return the server's tools by name. Raises UpstreamFailed if it cannot be reached."""
        return (await self._open_session()).tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Return the result of a tool, which may be its own error. Raises UpstreamFailed if there is no result."""
        session = await self._open_session()
        if name not in session.tools and session.complete:
            await self._refresh_tools(session)  # a newer catalog may know it, though the server did not notify
        if name not in session.tools and session.complete:
            raise UpstreamFailed(f"{self} no longer offers the tool {name!r}: search again, or rebuild the catalog")

        def call(session: Session, under_way: CallUnderWay) -> Awaitable[types.CallToolResult]:
            return session.client.call_tool(
                name, dict(arguments), _MAX_CALL_S, under_way.on_progress, meta=under_way.meta
            )

        return await self._sent(session, call)

    async def listed(self, what: ListName) -> Mapping[str, Definition]:
        """Return the server's resources, templates or prompts. Raises UpstreamFailed if there is no list."""
        session = await self._open_session()
        try:
            return await session.listed(what)
        except MCPError as error:
            raise await self._failure(session, error) from error
        except UpstreamFailed as error:
            raise UpstreamFailed(f"{self}: {error}") from error
        except (RuntimeError, ValueError) as error:
            raise UpstreamFailed(f"{self} gave a list that cannot be used: {printable(str(error))}") from error

    async def read_resource(self, uri: str) -> types.ReadResourceResult:
        """Return what a resource holds. Raises UpstreamFailed if there is no answer."""
        return await self._sent(
            await self._open_session(),
            lambda session, under_way: session.client.read_resource(uri, meta=under_way.meta),
        )

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None) -> types.GetPromptResult:
        """Return a prompt. Raises UpstreamFailed if there is no answer."""
        given = None if arguments is None else dict(arguments)
        return await self._sent(
            await self._open_session(),
            lambda session, under_way: session.client.get_prompt(name, given, meta=under_way.meta),
        )

    async def _sent(self, session: Session, send: Callable[[Session, CallUnderWay], Awaitable[_Answer]]) -> _Answer:
        try:
            return await self._answer(session, send)
        except _CallNotSent:
            return await self._answer(await self._open_session(), send)

    async def _refresh_tools(self, session: Session) -> None:
        try:
            await session.read_tools()
        except MCPError as error:
            raise await self._failure(session, error) from error
        except UpstreamFailed as error:
            raise UpstreamFailed(f"{self}: {error}") from error

    async def _answer(self, session: Session, send: Callable[[Session, CallUnderWay], Awaitable[_Answer]]) -> _Answer:
        try:
            with session.calls.begin() as under_way:
                return await send(session, under_way)
        except MCPError as error:
            raise await self._failure(session, error) from error
        except (RuntimeError, ValueError) as error:  # violates the tool's output schema, or the protocol
            raise UpstreamFailed(f"{self} gave an answer that cannot be used: {printable(str(error))}") from error

    async def _failure(self, session: Session, error: MCPError) -> UpstreamFailed:
        gone = error.code == types.INVALID_REQUEST and error.message == _SESSION_GONE
        if gone or error.code == types.CONNECTION_CLOSED:
            session.ended.set()
            await session.closed.wait()
        if gone or isinstance(self._lost, httpx2.ConnectError | httpx2.ConnectTimeout):
            return _CallNotSent(f"{self} cannot be reached: is it running?")
        if error.code == types.CONNECTION_CLOSED and isinstance(self._lost, UpstreamFailed):
            return UpstreamFailed(f"{self} was ended: {self._lost}; it may have carried the call out or not")
        if error.code == types.PARSE_ERROR:
            return UpstreamFailed(f"{self} gave an answer that cannot be used: {printable(error.message)}")
        if error.code == types.CONNECTION_CLOSED:
            return UpstreamFailed(
                f"{self} ended during the call, which it may have carried out or not; the next call starts it again"
            )
        if error.code == types.REQUEST_TIMEOUT:
            timed_out = f"{self} did not answer within {self.upstream.timeout_s:g} s (timeout_s)"
            if await _responds(session):
                return UpstreamFailed(f"{timed_out}; it may still carry the call out")
            session.ended.set()
            return UpstreamFailed(f"{timed_out}, and gives no sign of life; the next call starts it again")
        return UpstreamFailed(f"{self} refused the call: {printable(error.message)}")

    async def _open_session(self) -> Session:
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
                raise UpstreamFailed(f"{self} {problem}: {reason_of(error)}") from error
            assert isinstance(session, Session)
            return session

    async def _run_session(self, *, task_status: TaskStatus[Session]) -> None:
        """Run a session until it ends. One task enters and leaves it, as its task groups require."""
        session: Session | None = None
        self._lost = None
        # The session outlives the call that opens it: what it hears belongs to no caller unless a call says so.
        CALLING_CLIENT.set(None)
        CURRENT_CALL.set(None)
        try:
            async with open_session(self.upstream) as session, anyio.create_task_group() as listeners:
                self._server_name = self._claimed(session)
                task_status.started(session)
                listeners.start_soon(session.listen)
                listeners.start_soon(self._reports.of_tools, session, self.label)
                listeners.start_soon(self._reports.of_others, session)
                await session.ended.wait()
                listeners.cancel_scope.cancel()
        except Exception as error:
            if session is None:
                raise  # to `_open_session`
            self._lost = cause_of(error)
            _logger.warning("%s was lost: %s", self, reason_of(error), exc_info=_logger.isEnabledFor(logging.DEBUG))
        finally:
            if session is not None:
                session.ended.set()
                session.closed.set()

    def _claimed(self, session: Session) -> str | None:
        """Return the name that a server gives itself; None where that name is another's."""
        name: str = replace_unstorable(session.name).strip()
        if self.upstream.provider or self._may_claim is None or self._may_claim(self.upstream, name):
            return name
        _logger.warning(
            "%s calls itself %r, and there are tools of that provider from elsewhere: what it lists is not served",
            self,
            printable(name),
        )
        return None

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
