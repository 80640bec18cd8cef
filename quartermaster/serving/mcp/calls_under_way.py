"""The calls under way at one upstream: their clocks, and what the server asks meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT

from quartermaster.serving.mcp.calling_client import CallingClient, InputAnswer, InputRequest, refused
from quartermaster.serving.mcp.upstream import Upstream

_MAX_QUESTIONS = 20  # while calls are under way; a server that asks more is not believed to work
_LONGEST = 20  # times `timeout_s`, for a call whose progress restarts its clock


class CallsUnderWay:
    """The calls of one connection. Over stdio, all are of one client."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._scopes: set[anyio.CancelScope] = set()
        self._client: CallingClient | None = None
        self._questions = 0
        self._asking = anyio.Lock()

    @contextmanager
    def begin(self, client: CallingClient | None) -> Iterator[ProgressFnT]:
        """Bound a call, and yield the function that takes its progress, which starts its clock anew.

        Raises MCPError (REQUEST_TIMEOUT) where it takes longer than its clock allows.
        """
        if not self._scopes:
            self._questions = 0
        self._client = client or self._client
        began, timeout_s = anyio.current_time(), self._upstream.timeout_s
        scope = anyio.CancelScope(deadline=began + timeout_s)

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if not self._asking.locked():
                latest = began + _LONGEST * timeout_s
                scope.deadline = max(scope.deadline, min(anyio.current_time() + timeout_s, latest))
            if client is not None:
                await client.report_progress(progress, total, message)

        self._scopes.add(scope)
        try:
            with scope:
                yield on_progress
        finally:
            self._scopes.discard(scope)
        if scope.cancelled_caught:
            raise MCPError(types.REQUEST_TIMEOUT, "the call took too long")

    async def ask(self, request: InputRequest) -> InputAnswer:
        """Return the client's answer to a question of the server, or why there is none.

        Questions come one after the other. The time that the client takes counts for no call at this server.
        """
        if self._client is None or not self._scopes:
            return refused("nobody can be asked: no call is under way")
        if self._questions >= _MAX_QUESTIONS:
            return refused(f"one call may ask {_MAX_QUESTIONS} questions, and has done so")
        self._questions += 1
        async with self._asking:
            for scope in self._scopes:
                scope.deadline = float("inf")
            try:
                return await self._client.ask(request, self._upstream.name)
            finally:
                for scope in self._scopes:
                    scope.deadline = anyio.current_time() + self._upstream.timeout_s
