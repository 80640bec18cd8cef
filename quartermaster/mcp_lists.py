"""Lists of MCP servers of which a wrong row loses no other: the SDK refuses a whole page for one."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from anyio.abc import ObjectReceiveStream
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

Mend = Callable[[list[Any], Mapping[int, ValidationError]], list[Any]]
_PAGES = {"tools": types.ListToolsResult, "prompts": types.ListPromptsResult}


@asynccontextmanager
async def with_mended_lists(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], version: Callable[[], str], mend: Mend
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield a transport's streams. Of a page with rows that `version` of the protocol refuses, `mend` says the rows.

    It takes all of them, and what is wrong with which; an error's location begins with the list's name and a number.
    `version` is empty until it is agreed on.
    """
    async with transport as (received, sent):
        yield _Received(received, version, mend), sent


@dataclass
class _Received(ObjectReceiveStream[Any]):
    stream: Any
    version: Callable[[], str]
    mend: Mend

    async def receive(self) -> Any:
        item = await self.stream.receive()
        page = getattr(getattr(item, "message", None), "result", None)
        if not self.version() or not isinstance(page, dict):
            return item
        mended = {kind: self._mended(page, kind) for kind in _PAGES if isinstance(page.get(kind), list)}
        return replace(item, message=item.message.model_copy(update={"result": page | mended})) if mended else item

    async def aclose(self) -> None:
        await self.stream.aclose()

    def _mended(self, page: dict[str, Any], kind: str) -> list[Any]:
        rows: list[Any] = page[kind]
        # A page that is wrong in itself is for the SDK to refuse.
        if self._error(page, kind, rows) is None or self._error(page, kind, []):
            return rows
        errors = ((number, self._error(page, kind, [row])) for number, row in enumerate(rows))
        return self.mend(rows, {number: error for number, error in errors if error})

    def _error(self, page: dict[str, Any], kind: str, rows: list[Any]) -> ValidationError | None:
        try:
            validate_server_result(f"{kind}/list", self.version(), {**page, kind: rows})
            _PAGES[kind].model_validate({kind: rows}, by_name=False)
        except ValidationError as error:
            return error
        return None
