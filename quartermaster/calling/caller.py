"""Call tools of a router by their ids, for agents in the same process."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quartermaster.calling.calls import ApiCalls
from quartermaster.calling.results import CallResult
from quartermaster.calling.settings import CallSettings
from router.errors import QuartermasterError, RequestInvalid
from router.provider_formats import VendorText
from router.record import ToolRecord
from router.router import Router
from router.selection.admission import refusal_reason
from router.tools.trust import visible_value


class HttpCaller:
    """Calls the OpenAPI operations of a router's tools. Give it to an adapter as `call`, or await `call` yourself.

    A tool that the router's selection excludes, or that may not be shown to a model, is not called.
    """

    def __init__(self, router: Router, settings: CallSettings, *, dry_run: bool = False) -> None:
        self._router = router
        self._calls = ApiCalls(settings, dry_run=dry_run)

    async def __call__(self, tool_id: str, arguments: Mapping[str, Any]) -> str:
        """Return what a model is to read: the answer, or why there is none. It raises nothing that a model can mend."""
        try:
            return (await self.call(tool_id, arguments)).text
        except QuartermasterError as error:
            return f"the call failed: {error}"

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> CallResult:
        """Return the result of a call.

        Raises:
            RequestInvalid: There is no such tool, or it may not be used here.
            CallRefused: Nothing was sent: the settings do not allow it, or the arguments do not fit.
            CallFailed: There is no usable answer.
        """
        return self._shown(await self._calls.call(self._record(tool_id), arguments))

    def preview(self, tool_id: str, arguments: Mapping[str, Any]) -> CallResult:
        """Return the request that `call` would send, secrets masked. Raises RequestInvalid and CallRefused."""
        return self._shown(self._calls.preview(self._record(tool_id), arguments))

    def _shown(self, result: CallResult) -> CallResult:
        """Return a result without hidden characters and terminal sequences, unless vendors' text is verbatim here."""
        if self._router.vendor_text is not VendorText.TRUSTED:
            return result
        return replace(result, text=visible_value(result.text), value=visible_value(result.value))

    def _record(self, tool_id: str) -> ToolRecord:
        record = self._router.complete_record(tool_id)
        if record is None:
            raise RequestInvalid(f"there is no tool {tool_id!r:.200}: search for tools, and call them by their ids")
        if refused := refusal_reason(self._router.selection, record):
            raise RequestInvalid(f"{record.tool_id} may not be used here: {refused}")
        if unusable := self._router.handed(record).unusable:
            raise RequestInvalid(f"{record.tool_id} may not be used here: {unusable}")
        return record
