"""The calls under way at one upstream: to whom its progress, log messages and questions belong, and how many may come.

A session with an upstream is shared by all callers. Over streamable HTTP, and under the 2026 protocol, each question
arrives on the stream or as the result of its call, so the call is known. Over stdio and HTTP+SSE, a question of the
2025 protocol names no call: it is passed on only while exactly one call is under way there, and no call of another
client's was given up shortly before: the server may still work on it, and would ask the wrong user.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

import anyio
import mcp_types as types
from mcp import MCPError
from mcp_types import LOG_LEVEL_META_KEY

from quartermaster.serving.mcp.calling_client import (
    CALLING_CLIENT,
    CallingClient,
    InputAnswer,
    InputRequest,
    error_data,
)
from quartermaster.serving.mcp.input_requests import presentable
from router.tools.trust import visible_value

_logger = logging.getLogger("quartermaster.serving")
# What one call may send. A server that sends more is not believed to work, so the rest is dropped or refused.
_MAX_QUESTIONS, _MAX_QUESTIONS_AT_ONCE = 20, 5
_MAX_PROGRESS, _PROGRESS_INTERVAL_S = 1_000, 0.05
_MAX_LOGS, _MAX_LOG = 200, 4_000  # messages, characters
_MAX_MESSAGE = 300  # characters of a progress message
_LONGEST = 20  # times `timeout_s`, for a call whose progress restarts its clock
_LEVELS = types.LoggingLevel.__args__  # type: ignore[attr-defined]


class CallUnderWay:
    """A call at an upstream. Its clock stops while the client is asked, and starts anew with each progress."""

    def __init__(self, client: CallingClient | None, server: str, timeout_s: float) -> None:
        now = anyio.current_time()
        self.scope = anyio.CancelScope(deadline=now + timeout_s)
        self.client = client
        self._server = server
        self._timeout_s = timeout_s
        self._latest = now + _LONGEST * timeout_s
        self._asked = self._asking = self._progressed = self._logged = 0
        self._last_progress = -1.0
        self._last_progress_time = 0.0
        self._sending = False
        self._unsent: tuple[float, float | None, str | None] | None = None
        self._left_s = timeout_s

    @property
    def meta(self) -> types.RequestParamsMeta | None:
        """Return what the request's `_meta` holds: the level of log messages that the client wants."""
        wanted = self.client.log_level if self.client else None
        return None if wanted is None else cast(types.RequestParamsMeta, {LOG_LEVEL_META_KEY: wanted})

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass progress on, at most twenty times a second; to a client that reads slowly, the newest."""
        now = anyio.current_time()
        if not self._asking:
            self.scope.deadline = min(now + self._timeout_s, self._latest)
        ends = total is not None and progress >= total
        too_soon = now - self._last_progress_time < _PROGRESS_INTERVAL_S and not ends
        if self.client is None or too_soon or self._progressed >= _MAX_PROGRESS:
            return
        if progress <= self._last_progress:  # it must grow; a client may take anything else for an error
            return
        self._progressed += 1
        self._last_progress, self._last_progress_time = progress, now
        self._unsent = (progress, total, None if message is None else str(visible_value(message))[:_MAX_MESSAGE])
        if self._sending:
            return  # whoever sends takes the newest along
        self._sending = True
        try:
            while self._unsent is not None:
                unsent, self._unsent = self._unsent, None
                await self.client.report_progress(*unsent)
        finally:
            self._sending = False

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on, if the client asked for those of its level."""
        wanted = self.client.log_level if self.client else None
        if wanted is None or self.client is None or _LEVELS.index(params.level) < _LEVELS.index(wanted):
            return
        if self._logged >= _MAX_LOGS or len(params.model_dump_json()) > _MAX_LOG:
            return
        self._logged += 1
        named = f"{self._server}: {params.logger}" if params.logger else self._server
        update = {"data": visible_value(params.data), "logger": visible_value(named)}
        await self.client.log(params.model_copy(update=update))

    async def ask(self, request: InputRequest) -> InputAnswer:
        """Return the client's answer to a question of the server, or why there is none."""
        if self.client is None:
            return error_data("nobody can be asked: this call has no client")
        if self._asked >= _MAX_QUESTIONS or self._asking >= _MAX_QUESTIONS_AT_ONCE:
            return error_data(
                f"one call may ask {_MAX_QUESTIONS} questions, {_MAX_QUESTIONS_AT_ONCE} at a time, and has done so"
            )
        shown = presentable(request, self._server)
        if isinstance(shown, types.ErrorData):
            return shown
        self._asked += 1
        self._asking += 1
        if self._asking == 1:
            self._left_s = self.scope.deadline - anyio.current_time()
            self.scope.deadline = float("inf")
        try:
            return await self.client.ask(shown)
        finally:
            self._asking -= 1
            if not self._asking:
                self.scope.deadline = anyio.current_time() + self._left_s


# The call whose message this task handles. The SDK hands it on to what arrives on the call's own HTTP stream.
CURRENT_CALL: ContextVar[CallUnderWay | None] = ContextVar("current_call", default=None)


class CallsUnderWay:
    """The calls under way in one session."""

    def __init__(self, server: str, timeout_s: float) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._calls: set[CallUnderWay] = set()
        self._given_up: dict[object, float] = {}  # by client: until when its server may still work on a call

    @contextmanager
    def begin(self) -> Iterator[CallUnderWay]:
        """Bound a call. Raises MCPError (REQUEST_TIMEOUT) where it takes longer than its clock allows."""
        call = CallUnderWay(CALLING_CLIENT.get(), self._server, self._timeout_s)
        self._calls.add(call)
        token = CURRENT_CALL.set(call)
        answered = False
        try:
            with call.scope:
                yield call
                answered = True
        except Exception as error:
            answered = not (isinstance(error, MCPError) and error.code == types.REQUEST_TIMEOUT)
            raise
        finally:
            if not answered:
                self._note_given_up(call)
            CURRENT_CALL.reset(token)
            self._calls.discard(call)
        if call.scope.cancelled_caught:
            raise MCPError(types.REQUEST_TIMEOUT, "the call took too long")

    def of_message(self) -> CallUnderWay | None:
        """Return the call that a message of the server's belongs to; None where that cannot be known."""
        current = CURRENT_CALL.get()
        if current is not None:
            return current if current in self._calls else None
        if len(self._calls) != 1:
            return None
        (only,) = self._calls
        return None if self._others_given_up(only) else only

    def _note_given_up(self, call: CallUnderWay) -> None:
        now = anyio.current_time()
        self._given_up = {owner: until for owner, until in self._given_up.items() if until > now}
        self._given_up[_owner(call)] = now + _LONGEST * self._timeout_s

    def _others_given_up(self, call: CallUnderWay) -> bool:
        now, owner = anyio.current_time(), _owner(call)
        return any(until > now and other != owner for other, until in self._given_up.items())

    async def ask(self, request: InputRequest) -> InputAnswer:
        """Answer a question of the server's."""
        call = self.of_message()
        if call is None:
            _logger.info("the MCP server %r asks for something outside of any one call: refused", self._server)
            under_way = f"{len(self._calls)} calls are under way" if self._calls else "no call is under way"
            if len(self._calls) == 1:
                under_way = "a call of another client was given up, and may still go on"
            return error_data(
                f"nobody can be asked: {under_way}, and this message names none. Ask during a call, over streamable "
                "HTTP on its stream, or by the protocol 2026-07-28"
            )
        return await call.ask(request)

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on to the client of its call; one of no known call is dropped."""
        if (call := self.of_message()) is not None:
            await call.on_log(params)


def _owner(call: CallUnderWay) -> object:
    """Return whose call it is; a value of its own where that is not known."""
    return call if call.client is None or call.client.owner is None else call.client.owner
