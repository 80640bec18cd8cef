"""The handlers of resources and prompts: the upstreams' own, passed through."""

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext

from quartermaster.serving.mcp.pass_through import PassThrough
from quartermaster.serving.mcp.suspended_calls import Result
from quartermaster.serving.profiles import Caller
from router.errors import QuartermasterError, RequestInvalid

_Context = ServerRequestContext[Any]
_Params = types.ReadResourceRequestParams | types.GetPromptRequestParams
# Answers a request whose client may be asked meanwhile.
Answer = Callable[[_Context, Caller, Any, Callable[[], Awaitable[Result]]], Awaitable[Any]]


class UpstreamLists:
    """Answers requests for the upstreams' resources and prompts. `caller_of` says who asks."""

    def __init__(
        self,
        caller_of: Callable[[_Context], Caller],
        lists_of: Callable[[_Context], PassThrough],
        answer: Answer,
        note: Callable[[_Context], None],
    ) -> None:
        self._caller_of = caller_of
        self._lists_of = lists_of
        self._answer = answer
        self._note = note

    async def resources(self, context: _Context, params: types.PaginatedRequestParams | None) -> Any:
        """Answer resources/list."""
        rows, cursor = await self._page(context, "resources", params)
        return types.ListResourcesResult.model_validate({"resources": rows, "nextCursor": cursor}, by_name=False)

    async def templates(self, context: _Context, params: types.PaginatedRequestParams | None) -> Any:
        """Answer resources/templates/list."""
        rows, cursor = await self._page(context, "resource templates", params)
        answer = {"resourceTemplates": rows, "nextCursor": cursor}
        return types.ListResourceTemplatesResult.model_validate(answer, by_name=False)

    async def prompts(self, context: _Context, params: types.PaginatedRequestParams | None) -> Any:
        """Answer prompts/list."""
        rows, cursor = await self._page(context, "prompts", params)
        return types.ListPromptsResult.model_validate({"prompts": rows, "nextCursor": cursor}, by_name=False)

    async def read(self, context: _Context, params: types.ReadResourceRequestParams) -> Any:
        """Answer resources/read."""
        caller = self._known(context)
        lists = self._lists_of(context)
        return await self._audited(context, caller, params, lambda: lists.read(caller, params.uri))

    async def prompt(self, context: _Context, params: types.GetPromptRequestParams) -> Any:
        """Answer prompts/get."""
        caller = self._known(context)
        lists = self._lists_of(context)
        return await self._audited(context, caller, params, lambda: lists.prompt(caller, params.name, params.arguments))

    def _known(self, context: _Context) -> Caller:
        try:
            return self._caller_of(context)
        except QuartermasterError as error:  # the profile is gone
            raise MCPError(types.INVALID_REQUEST, str(error)) from error

    async def _page(self, context: _Context, what: Any, params: types.PaginatedRequestParams | None) -> Any:
        self._note(context)
        return await self._lists_of(context).page(self._known(context), what, params.cursor if params else None)

    async def _audited(
        self, context: _Context, caller: Caller, params: _Params, read: Callable[[], Awaitable[Result]]
    ) -> Any:
        async def run() -> Result:
            await caller.record(context.method, "started")  # nothing is read that nobody could tell of
            return await read()

        try:
            answer = await self._answer(context, caller, params, run)
            await caller.record(context.method, "ok")
        except RequestInvalid as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        except QuartermasterError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        return answer
