"""PUT and DELETE of tools in the running router: only if the settings open them, and with the token."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from starlette.responses import Response

from quartermaster.serving.http import responses
from quartermaster.serving.http.catalog import ToolId
from quartermaster.serving.http.errors import failure, json_response
from quartermaster.serving.http.openapi import LOOKUP_FAILURES, failures, success
from quartermaster.serving.http.requests import ToolDefinitions
from quartermaster.serving.http.service import Service
from quartermaster.serving.profiles import Caller
from router.record import ToolRecord

_Source = Annotated[str, PathParameter(min_length=1, max_length=512, pattern=r"\S")]
_FAILURES = LOOKUP_FAILURES | failures(403)


def change_paths(service: Service, overlay_file: Path) -> APIRouter:
    """Return the paths that register and remove tools, and save the result in `overlay_file` for the next start."""
    routes = APIRouter(prefix="/v1", tags=["changes"])
    router = service.router
    # One change at a time, so that the file holds the last one; a waiting change takes no thread of a request.
    one_at_a_time = CapacityLimiter(1)

    async def apply(caller: Caller, change: Callable[[], Iterable[ToolRecord]]) -> Response:
        def apply_and_save() -> Response:
            registered = tuple(change())
            caller.actions.changed += (record.tool_id for record in registered)
            router.save_overlay(overlay_file)
            return json_response({"registered": [record.tool_id for record in registered], "tools": len(router)})

        return await to_thread.run_sync(apply_and_save, limiter=one_at_a_time)

    @routes.put("/sources/{source:path}", responses={**success(responses.ChangeJson), **_FAILURES, **failures(415)})
    async def replace(source: _Source, body: ToolDefinitions, request: Request) -> Response:
        """The tools of a source, such as an MCP server, are now exactly these."""
        caller = service.caller_of(request)
        if not caller.changes:
            return _not_permitted()
        return await apply(caller, lambda: router.replace(source, body.tools))

    @routes.delete("/tools/{tool_id:path}", responses={**success(responses.ChangeJson), **_FAILURES})
    async def remove(tool_id: ToolId, request: Request) -> Response:
        """A tool is served no more, until it is registered again."""
        caller = service.caller_of(request)
        if not caller.changes:
            return _not_permitted()

        def remove_tool() -> tuple[ToolRecord, ...]:
            router.remove([tool_id])
            caller.actions.changed.append(tool_id)
            return ()

        if router.record(tool_id) is None:
            return failure(404, f"there is no tool {tool_id!r}", "tool_id")
        return await apply(caller, remove_tool)

    return routes


def _not_permitted() -> Response:
    return failure(403, "this token may not change tools: `changes = true` in the file of profiles permits it")
