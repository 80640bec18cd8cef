"""The three tools: find_tools, describe_tool, call_tool."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from msgspec.structs import replace

from quartermaster.adapters.tool_search import schema_of, with_needs
from quartermaster.calling import ApiCalls
from quartermaster.serving.mcp import results
from quartermaster.serving.mcp.client import CallingClient
from quartermaster.serving.mcp.definitions import CallTool, DescribeTool, FindTools
from quartermaster.serving.mcp.long_results import LongResults
from quartermaster.serving.mcp.upstreams import Upstreams
from quartermaster.serving.profiles import Caller
from quartermaster.serving.recent_answers import RecentAnswers
from router.errors import QuartermasterError, RequestInvalid
from router.feedback import Outcome
from router.provider_formats.formats import ProviderFormat, VendorText
from router.record import Kind, ToolRecord
from router.selection.admission import refusal_reason
from router.selection.settings import Selection
from router.tools.arguments import take_arguments
from router.tools.trust.trusted import visible_value
from router.typed import converted

_Arguments = Mapping[str, Any]
_Handler = Callable[[Any], Awaitable[types.CallToolResult]]
# Models write numbers and booleans as texts, too.
_read = partial(converted, error=RequestInvalid, strict=False, whole="the arguments")


@dataclass(frozen=True, slots=True)
class Tools:
    """Answers one call of the three tools. `selection` filters all of them: a tool that it excludes is not called.

    A tool is called at its API where `calls` serves it, else at the MCP servers `upstreams`, which say why where they
    do not have it, and report to `client`. `dialogue` says whose calls belong to whose `recent` answers, where the
    router keeps feedback; None where that is not known.
    """

    caller: Caller
    selection: Selection
    calls: ApiCalls | None
    upstreams: Upstreams
    client: CallingClient
    long_results: LongResults
    recent: RecentAnswers
    dialogue: str | None

    async def call(self, name: str, arguments: _Arguments) -> types.CallToolResult:
        """Return the result of a tool. Invalid calls and failures are error results that give the reason."""
        handlers: dict[str, tuple[Any, _Handler]] = {
            "find_tools": (FindTools, self.find),
            "describe_tool": (DescribeTool, self.describe),
        }
        if self.caller.may_call:
            handlers["call_tool"] = (CallTool, self.call_catalog_tool)
        if name not in handlers:
            how = ": call the catalog's tools with call_tool" if self.caller.may_call else ""
            return results.error_result(f"there is no tool {name!r} here, only {', '.join(handlers)}{how}")
        try:
            kind, handler = handlers[name]
            arguments = with_needs(arguments) if kind is FindTools else arguments
            call, mended = take_arguments(lambda given: _read(given, kind), schema_of(kind), arguments)
            result = results.with_note(await handler(call), mended)
        except QuartermasterError as error:
            result = results.error_result(f"{name} failed: {error}")
        self._report(Outcome.FAILED if result.is_error else Outcome.SUCCEEDED)
        return result

    async def find(self, call: FindTools) -> types.CallToolResult:
        """Answer find_tools: route the request. Raises RequestInvalid for wrong arguments."""
        selection = self.selection
        if call.read_only:
            selection = replace(selection, annotations={**selection.annotations, "readOnlyHint": True})
        if call.category:
            selection = replace(selection, use_category_filter=True)
        if call.kind is not None:
            if selection.kinds and call.kind not in selection.kinds:
                raise RequestInvalid(f"kind is {call.kind!r}: this server offers {', '.join(selection.kinds)}")
            selection = replace(selection, kinds=(call.kind,))
        routed = await self.caller.router.route_async(
            call.request,
            needs=call.needs or None,
            k=call.k,
            selection=selection,
            category=call.category,
            category_confidence=1.0 if call.category else None,
            token_budget=call.token_budget,
            form=ProviderFormat.MCP,
            detail=call.detail,
            caller=self.caller.token,
        )
        if self.dialogue is not None and routed.request_id:
            self.recent.add(self.dialogue, routed.request_id, routed.offered)
        self.caller.actions.offer(routed.offered, [call.request, *call.needs])
        return results.find_result(routed, call.k)

    async def describe(self, call: DescribeTool) -> types.CallToolResult:
        """Answer describe_tool. Raises RequestInvalid for unknown ids."""
        router, record = self.caller.router, await self._record(call.tool_id)
        self.caller.actions.described.append(record.tool_id)
        return results.describe_result(record, router.vendor_text, router.instructions(record.tool_id))

    async def call_catalog_tool(self, call: CallTool) -> types.CallToolResult:
        """Answer call_tool: call a tool at its own server, ask it for a prompt, read a skill, or on in a long result.

        Raises QuartermasterError.
        """
        router, cut, note = self.caller.router, "", ""
        if (read := self.long_results.read_on(call.tool_id, call.arguments)) is not None:
            return read
        record = await self._record(call.tool_id)
        self.caller.actions.called.append(record.tool_id)
        await self.caller.record("call_tool", "started")  # a call that cannot be recorded is not made
        if record.kind is Kind.SKILL:
            return self.long_results.shortened(results.text_result(router.instructions(record.tool_id)))
        complete = router.complete_record(record.tool_id) or record
        if self.calls is not None and self.calls.serves(complete):
            answer = await self.calls.call(complete, call.arguments)
            # The text is the whole answer: as structured content the model's client would hand it over twice.
            result, note = results.text_result(answer.text, is_error=answer.is_error), answer.mended
            cut = visible_value(answer.rest) if router.vendor_text is VendorText.TRUSTED else answer.rest
        else:
            result = await self.upstreams.call(complete, call.arguments, self.client)
        shown = self.long_results.shortened(results.upstream_result(result, router.vendor_text), cut)
        return results.with_note(shown, note)  # behind the text, which goes on in its rest

    def _report(self, outcome: Outcome) -> None:
        """Report what became of the tool that was called, to the answer that offered it."""
        log = self.caller.router.feedback_log
        if log is None or self.dialogue is None:
            return
        for tool_id in self.caller.actions.called:
            if answer := self.recent.answer_of(self.dialogue, tool_id):
                log.report(answer, tool_id, outcome, caller=self.caller.token)

    async def _record(self, tool_id: str) -> ToolRecord:
        """Return the record of an id. Raises RequestInvalid, naming similar ids, if it is unknown or excluded."""
        router = self.caller.router
        # A model that saw the tool elsewhere may know it by the name that it has there.
        record = router.record(tool_id) or router.record(router.tool_id_of(tool_id) or "")
        if record is None:
            similar = await router.route_async(tool_id, k=3, selection=self.selection, feedback=False)
            close = ", ".join(tool.tool_id for tool in similar if not router.handed(tool.record).unusable) or "none"
            raise RequestInvalid(
                f"the catalog has no tool {tool_id!r}; ids that come close: {close}. find_tools gives ids"
            )
        if refused := refusal_reason(self.selection, record):
            raise RequestInvalid(f"{record.tool_id} may not be used here: {refused}")
        if unusable := router.handed(record).unusable:
            raise RequestInvalid(f"the tool may not be used here: {unusable}")
        return record
