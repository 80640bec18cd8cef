"""The client of a call: it gets the call's progress, and over stdio is asked what the tool's server asks.

Servers are strangers. Their questions name them, lose hidden characters, as their answers do, and what a client would
not show is not passed on: other servers' context, metadata, tasks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import anyio
import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from quartermaster.addresses import is_this_machine
from quartermaster.serving.mcp.upstream import Upstream
from router.tools.trust.trusted import visible_value

Question: TypeAlias = types.ElicitRequest | types.CreateMessageRequest
Answer: TypeAlias = (
    types.ElicitResult | types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData
)
_ANSWER_TIMEOUT_S = 240.0  # shorter than the silence after which an upstream's HTTP stream counts as lost
_PROGRESS_INTERVAL_S = 0.05
_MAX_PROGRESS_TEXT = 300  # characters
_MAX_MESSAGE = 4_000
_MAX_URL = 2_000
_MAX_BYTES = 1_048_576  # of a form, or of messages to a model
_MAX_QUESTIONS = 20  # while calls are under way; a server that asks more is not believed to work
_LONGEST = 20  # times `timeout_s`, for a call whose progress restarts its clock


class CallingClient:
    """The client of one request."""

    def __init__(self, context: ServerRequestContext[Any]) -> None:
        self._session = context.session
        self._over_http = context.request is not None
        self._last_progress, self._last_time = -1.0, 0.0
        self._reporting = False

    async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress to the client, if it gave a token for it: at most twenty times a second, as fast as it reads.

        Progress that does not grow is left out; a client may take it for an error.
        """
        now = anyio.current_time()
        too_soon = now - self._last_time < _PROGRESS_INTERVAL_S and not (total is not None and progress >= total)
        if too_soon or self._reporting or progress <= self._last_progress:
            return
        self._last_progress, self._last_time, self._reporting = progress, now, True
        try:
            shown = None if message is None else str(visible_value(message))[:_MAX_PROGRESS_TEXT]
            await self._session.report_progress(progress, total, shown)
        finally:
            self._reporting = False

    async def ask(self, question: Question, server: str) -> Answer:
        """Return the client's answer to a server's question, or an error to hand to the server."""
        if refusal := self._refusal(question):
            return refused(refusal)
        try:
            shown = presentable(question, server)
            wanted: Any = types.ElicitResult
            if isinstance(question, types.CreateMessageRequest):
                with_tools = bool(question.params.tools)
                wanted = types.CreateMessageResultWithTools if with_tools else types.CreateMessageResult
            answer: Answer = await self._session.send_request(shown, wanted, _ANSWER_TIMEOUT_S)
        except ValueError as error:
            return refused("the answer is not as MCP has it" if isinstance(error, ValidationError) else str(error))
        except MCPError as error:
            return types.ErrorData(code=error.code, message=error.message[:300])
        return answer

    def _refusal(self, question: Question) -> str | None:
        """Return why the client cannot be asked; None where it can."""
        if self._over_http:
            return "the client of this call cannot be asked: it is one of many over HTTP. Over stdio it can"
        able, params = self._session.client_capabilities or types.ClientCapabilities(), question.params
        unable = None
        if isinstance(params, types.CreateMessageRequestParams):
            if able.sampling is None:
                unable = "sampling"
            elif params.tools and able.sampling.tools is None:
                unable = "sampling with tools"
        elif able.elicitation is None:
            unable = "elicitation"
        elif isinstance(params, types.ElicitRequestURLParams) and able.elicitation.url is None:
            unable = "elicitation by URL"
        return f"the client of this call does not support {unable}" if unable else None


def refused(message: str) -> types.ErrorData:
    """Return a refusal, as a server that asks for something gets it."""
    return types.ErrorData(code=types.INVALID_REQUEST, message=message)


def presentable(question: Question, server: str) -> Question:
    """Return a question as it may be passed on. Raises ValueError where it may not."""
    params = question.params
    if isinstance(params, types.CreateMessageRequestParams):
        # `includeContext` would add what the client knows of other servers; the rest concerns only the two ends.
        shown = _visible(params, without=("_meta", "task", "includeContext", "metadata"))
        origin = f"The MCP server {server!r} asks for this."
        shown["systemPrompt"] = f"{origin}\n\n{shown['systemPrompt']}" if shown.get("systemPrompt") else origin
        return types.CreateMessageRequest(params=types.CreateMessageRequestParams.model_validate(shown, by_name=False))
    if isinstance(params, types.ElicitRequestURLParams) and not _may_be_visited(params.url):
        raise ValueError("the URL is not passed on: it must be https (or http at this machine), without a user")
    shown = _visible(params, without=("_meta", "task"))
    text = shown["message"]
    shown["message"] = f"The MCP server {server!r} asks: {text[:_MAX_MESSAGE]}{'…' * (len(text) > _MAX_MESSAGE)}"
    return types.ElicitRequest(params=type(params).model_validate(shown, by_name=False))


def _visible(params: Any, without: tuple[str, ...]) -> dict[str, Any]:
    """Return a question without hidden characters. Raises ValueError where it is too long."""
    asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    if len(msgspec.json.encode(asked)) > _MAX_BYTES:
        raise ValueError(f"the question has more than {_MAX_BYTES:,} bytes")
    shown: dict[str, Any] = visible_value({name: value for name, value in asked.items() if name not in without})
    return shown


def _may_be_visited(url: str) -> bool:
    if len(url) > _MAX_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username is not None or parts.password is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))


class CallsUnderWay:
    """The calls under way at one upstream: their clocks, and what the server asks meanwhile.

    Over stdio, all are of one client.
    """

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

    async def ask(self, question: Question) -> Answer:
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
                return await self._client.ask(question, self._upstream.name)
            finally:
                for scope in self._scopes:
                    scope.deadline = anyio.current_time() + self._upstream.timeout_s
