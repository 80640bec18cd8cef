"""The three tools: find_tools, describe_tool, call_tool."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import mcp_types as types
import msgspec

from quartermaster.calling import ApiCalls
from quartermaster.serving.mcp import results
from quartermaster.serving.mcp.calling_client import CallingClient
from quartermaster.serving.mcp.definitions import CallTool, DescribeTool, FindTools, read_arguments
from quartermaster.serving.mcp.upstreams import Upstreams
from quartermaster.serving.profiles import Actions, Caller
from quartermaster.serving.recent_answers import RecentAnswers
from router.errors import QuartermasterError, RequestInvalid
from router.feedback import Outcome
from router.provider_formats import Form
from router.record import Kind, ToolRecord
from router.router import Router
from router.selection import Selection
from router.selection.admission import refusal_reason

_Handler = Callable[[Mapping[str, Any] | None], Awaitable[types.CallToolResult]]


@dataclass(frozen=True, slots=True)
class Tools:
    """Answers the calls of the three tools. `selection` filters all of them: a tool that it excludes is not called.

    `caller` is who calls, None where anybody may use the whole router. A tool is called at its API where `calls` serves
    it, else at the MCP servers `upstreams`, which say why where they do not have it, and report to `client`.
    `dialogue` tells whose calls belong to whose answers, where the router keeps feedback; None where that is not known.
    """

    router: Router
    upstreams: Upstreams
    selection: Selection
    caller: Caller | None = None
    calls: ApiCalls | None = None
    dialogue: str | None = None
    client: CallingClient | None = None
    _recent: RecentAnswers = field(default_factory=RecentAnswers)
    _actions: Actions = field(default_factory=Actions)

    def of(self, caller: Caller, dialogue: str | None, client: CallingClient) -> "Tools":
        """Return the tools as a caller may use them."""
        actions = caller.actions
        return replace(self, router=caller.router, caller=caller, dialogue=dialogue, client=client, _actions=actions)

    async def call(self, name: str, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Return the result of a tool. Invalid calls and failures are error results that give the reason."""
        handlers: dict[str, _Handler] = {
            "find_tools": self.find,
            "describe_tool": self.describe,
        }
        if self.caller is None or self.caller.may_call:
            handlers["call_tool"] = self.call_catalog_tool
        if name not in handlers:
            how = ": call the catalog's tools with call_tool" if "call_tool" in handlers else ""
            return results.error_result(f"there is no tool {name!r} here, only {', '.join(handlers)}{how}")
        try:
            result = await handlers[name](arguments)
        except QuartermasterError as error:
            result = results.error_result(f"{name} failed: {error}")
        self._report(Outcome.FAILED if result.is_error else Outcome.SUCCEEDED)
        return result

    async def find(self, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Answer find_tools: route the request. Raises RequestInvalid for wrong arguments."""
        call = read_arguments(FindTools, arguments)
        selection = self.selection
        if call.read_only:
            selection = msgspec.structs.replace(selection, annotations={**selection.annotations, "readOnlyHint": True})
        if call.category:
            selection = msgspec.structs.replace(selection, use_category_filter=True)
        if call.kind is not None:
            if selection.kinds and call.kind not in selection.kinds:
                raise RequestInvalid(f"kind is {call.kind!r}: this server offers {', '.join(selection.kinds)}")
            selection = msgspec.structs.replace(selection, kinds=(call.kind,))
        routed = await self.router.route_async(
            call.request,
            k=call.k,
            selection=selection,
            category=call.category,
            category_confidence=1.0 if call.category else None,
            token_budget=call.token_budget,
            form=Form.MCP,
            detail=call.detail,
            caller=self._token,
        )
        if self.dialogue is not None and routed.request_id:
            self._recent.add(self.dialogue, routed.request_id, routed.offered)
        self._actions.offer(routed.offered, [call.request])
        return results.find_result(routed, call.k)

    async def describe(self, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Answer describe_tool. Raises RequestInvalid for wrong arguments and unknown ids."""
        record = await self._record(read_arguments(DescribeTool, arguments).tool_id)
        self._actions.described.append(record.tool_id)
        return results.describe_result(record, self.router.vendor_text, self.router.instructions(record.tool_id))

    async def call_catalog_tool(self, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Answer call_tool: call a tool at its own server, ask it for a prompt, or read a skill.

        Raises QuartermasterError.
        """
        call = read_arguments(CallTool, arguments)
        record = await self._record(call.tool_id)
        self._actions.called.append(record.tool_id)
        if self.caller is not None:
            await self.caller.record("call_tool", "started")  # a call that nobody could tell of is not made
        if record.kind is Kind.SKILL:
            return results.text_result(self.router.instructions(record.tool_id))
        complete = self.router.complete_record(record.tool_id) or record
        if self.calls is not None and self.calls.serves(complete):
            answer = await self.calls.call(complete, call.arguments)
            # The text is the whole answer: as structured content the model's client would hand it over twice.
            result = results.text_result(answer.text, is_error=answer.is_error)
        else:
            result = await self.upstreams.call(complete, call.arguments, self.client)
        return results.upstream_result(result, self.router.vendor_text)

    @property
    def _token(self) -> str | None:
        return None if self.caller is None else self.caller.token

    def _report(self, outcome: Outcome) -> None:
        """Report what became of the tool that was called, to the answer that offered it."""
        log = self.router.feedback_log
        if log is None or self.dialogue is None:
            return
        for tool_id in self._actions.called:
            if answer := self._recent.answer_of(self.dialogue, tool_id):
                log.report(answer, tool_id, outcome, caller=self._token)

    async def _record(self, tool_id: str) -> ToolRecord:
        """Return the record of an id. Raises RequestInvalid, naming similar ids, if it is unknown or excluded."""
        # A model that saw the tool elsewhere may know it by the name that it has there.
        record = self.router.record(tool_id) or self.router.record(self.router.tool_id_of(tool_id) or "")
        if record is None:
            similar = await self.router.route_async(tool_id, k=3, selection=self.selection, feedback=False)
            close = [tool.tool_id for tool in similar if not self.router.handed(tool.record).unusable]
            raise RequestInvalid(
                f"the catalog has no tool {tool_id!r}; ids that come close: {', '.join(close) or 'none'}. "
                "find_tools gives ids"
            )
        if refused := refusal_reason(self.selection, record):
            raise RequestInvalid(f"{record.tool_id} may not be used here: {refused}")
        if unusable := self.router.handed(record).unusable:
            raise RequestInvalid(f"the tool may not be used here: {unusable}")
        return record
