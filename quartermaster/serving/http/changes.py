"""PUT and DELETE of tools in the running router: only if the settings open them, and with the token."""

from collections.abc import Callable, Iterable
from pathlib import Path

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from quartermaster.serving.http.answers import Changed
from quartermaster.serving.http.errors import failure, json_response
from quartermaster.serving.http.openapi import BODY_FAILURES, LOOKUP_FAILURES, Operation
from quartermaster.serving.http.requests import Name, Tools, body_of
from quartermaster.serving.http.service import Service
from quartermaster.serving.profiles import Caller
from router.record import ToolRecord
from router.typed import converted


def change_operations(service: Service, overlay_file: Path) -> list[Operation]:
    """Return the operations that change the tools, and save the result in `overlay_file` for the next start."""
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

    async def replace(request: Request) -> Response:
        """The tools of a source, such as an MCP server, are now exactly these."""
        caller = service.caller_of(request)
        if not caller.changes:
            return _not_permitted()
        source, body = converted(request.path_params["source"], Name, whole="source"), await body_of(request, Tools)
        return await apply(caller, lambda: router.replace(source, body.tools))

    async def remove(request: Request) -> Response:
        """A tool is served no more, until it is registered again."""
        caller, tool_id = service.caller_of(request), request.path_params["tool_id"]
        if not caller.changes:
            return _not_permitted()

        def remove_tool() -> tuple[ToolRecord, ...]:
            router.remove([tool_id])
            caller.actions.changed.append(tool_id)
            return ()

        if router.record(tool_id) is None:
            return failure(404, f"there is no tool {tool_id!r}", "tool_id")
        return await apply(caller, remove_tool)

    return [
        Operation(
            method="PUT",
            path="/v1/sources/{source:path}",
            tag="changes",
            handle=replace,
            body=Tools,
            answer=Changed,
            failures=(*BODY_FAILURES, 403),
        ),
        Operation(
            method="DELETE",
            path="/v1/tools/{tool_id:path}",
            tag="changes",
            handle=remove,
            answer=Changed,
            failures=(*LOOKUP_FAILURES, 403),
        ),
    ]


def _not_permitted() -> Response:
    return failure(403, "this token may not change tools: `changes = true` in the file of profiles permits it")
