"""The client that sent a call: it is told of the call's progress, and asked for what the tool's server needs of it.

A client of the 2025 protocol is sent a request, where its connection can carry one: over stdio, not over HTTP without a
session. A client of the 2026 protocol gets the question in place of the call's result; see `suspended_calls`.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, get_args

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import LOG_LEVEL_META_KEY
from pydantic import ValidationError

InputRequest = types.ElicitRequest | types.CreateMessageRequest
InputAnswer = types.ElicitResult | types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData
Ask = Callable[[InputRequest], Awaitable[InputAnswer]]

ANSWER_TIMEOUT_S = 240.0  # shorter than the silence after which an upstream's HTTP stream counts as lost


class CallingClient:
    """A client, for as long as its call is under way.

    `context` is the request that waits for the call's result now, None while none does. `ask_between` asks a client of
    the 2026 protocol, which cannot be sent a request. `owner` is equal for calls of one client; None where clients
    cannot be told apart.
    """

    def __init__(
        self, context: ServerRequestContext[Any], ask_between: Ask | None = None, *, owner: object = None
    ) -> None:
        self.owner = owner
        self.context: ServerRequestContext[Any] | None = context
        self._capabilities = context.session.client_capabilities or types.ClientCapabilities()
        self._ask_between = ask_between

    @property
    def log_level(self) -> types.LoggingLevel | None:
        """Return the least level of log messages that the request wants (2026 protocol); None where it wants none."""
        meta: Mapping[str, Any] = (self.context.meta if self.context else None) or {}
        level: Any = meta.get(LOG_LEVEL_META_KEY)
        return level if level in get_args(types.LoggingLevel) else None

    async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell the client of progress, if it gave a token for it."""
        if self.context is not None:
            await self.context.session.report_progress(progress, total, message)

    async def log(self, message: types.LoggingMessageNotificationParams) -> None:
        """Send a log message, if the request asks for messages of its level (2026 protocol)."""
        if self.context is not None and self.log_level is not None:
            # Not `send_log_message`: it warns that the protocol deprecates logging, which is no news to a gateway.
            notification = types.LoggingMessageNotification(params=message)
            await self.context.session.send_notification(notification, related_request_id=self.context.request_id)

    def refusal(self, request: InputRequest) -> str | None:
        """Return why the client cannot be asked; None where it can."""
        if self._ask_between is None and not (self.context and self.context.session.can_send_request):
            return (
                "the client of this call cannot be asked: over HTTP, only clients of the protocol 2026-07-28 can, "
                "over stdio all"
            )
        if isinstance(request, types.ElicitRequest):
            elicitation = self._capabilities.elicitation
            if elicitation is None:
                return "the client of this call does not support elicitation"
            # A client that names neither mode supports forms, as before there were modes.
            by_url = isinstance(request.params, types.ElicitRequestURLParams)
            if by_url and elicitation.url is None:
                return "the client of this call does not support elicitation by URL"
            if not by_url and elicitation.form is None and elicitation.url is not None:
                return "the client of this call does not support elicitation by a form"
        else:
            sampling = self._capabilities.sampling
            if sampling is None:
                return "the client of this call does not support sampling"
            if request.params.tools and sampling.tools is None:
                return "the client of this call does not support sampling with tools"
        return None

    async def ask(self, request: InputRequest) -> InputAnswer:
        """Return the client's answer, or an error to hand to the server that asks."""
        if refusal := self.refusal(request):
            return error_data(refusal)
        if self._ask_between is not None:
            return await self._ask_between(request)
        assert self.context is not None
        try:
            return await self.context.session.send_request(
                request,
                _answer_type(request),
                request_read_timeout_seconds=ANSWER_TIMEOUT_S,
                metadata=ServerMessageMetadata(related_request_id=self.context.request_id),
            )
        except MCPError as error:
            return types.ErrorData(code=error.code, message=error.message[:300])
        except ValidationError:
            return error_data("the client gave an answer that is not as MCP has it")


def error_data(message: str) -> types.ErrorData:
    """Return a refusal, as a server that asks for something gets it."""
    return types.ErrorData(code=types.INVALID_REQUEST, message=message)


def _answer_type(
    request: InputRequest,
) -> type[types.ElicitResult] | type[types.CreateMessageResult] | type[types.CreateMessageResultWithTools]:
    if isinstance(request, types.ElicitRequest):
        return types.ElicitResult
    return types.CreateMessageResultWithTools if request.params.tools else types.CreateMessageResult


# The client of the call that this task answers; None where nobody can be asked or told.
CALLING_CLIENT: ContextVar[CallingClient | None] = ContextVar("calling_client", default=None)
