"""PUT and DELETE of tools in the running router: only where the settings open them, and behind the token."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from router.record import ToolRecord
from router.serving.http import answers
from router.serving.http.catalog import ToolId
from router.serving.http.documented import FAILURES, OF_A_BODY, json_of
from router.serving.http.errors import failure, json_response
from router.serving.http.service import Service

_Source = Annotated[str, InPath(min_length=1, max_length=512, pattern=r"\S")]

# What every vendor's form has; the rest is theirs, and is checked when it is read.
_NAME = {"required": ["name"], "properties": {"name": {"type": "string", "pattern": r"\S"}}}
_NAMED: list[Any] = [_NAME, {"required": ["function"], "properties": {"function": {"type": "object", **_NAME}}}]


class Tools(BaseModel):
    """Tools as their vendor defines them: OpenAI's functions, Anthropic's tools, an MCP server's list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tools: list[Annotated[dict[str, Any], Field(json_schema_extra={"anyOf": _NAMED})]] = Field(max_length=1_000)


def changes(service: Service, saved: Path) -> APIRouter:
    """The paths that change what is served, now and after the next start."""
    routes = APIRouter(prefix="/v1", tags=["changes"])
    router = service.router
    # One change at a time, so that the file is of the last one; those that wait take no thread of requests.
    changing = CapacityLimiter(1)

    async def changed(change: Callable[[], Iterable[ToolRecord]]) -> Response:
        def saving() -> Response:
            registered = change()
            router.save_overlay(saved)
            return json_response({"registered": [record.tool_id for record in registered], "tools": len(router)})

        return await to_thread.run_sync(saving, limiter=changing)

    @routes.put("/sources/{source:path}", responses={**json_of(answers.Changed), **OF_A_BODY})
    async def replace(source: _Source, body: Tools) -> Response:
        """The tools of a source, such as an MCP server, are now exactly these."""
        return await changed(lambda: router.replace(source, body.tools))

    @routes.delete("/tools/{tool_id:path}", responses={**json_of(answers.Changed), **FAILURES})
    async def remove(tool_id: ToolId) -> Response:
        """A tool is served no more, until it is registered again."""

        def none_left() -> tuple[ToolRecord, ...]:
            router.remove([tool_id])
            return ()

        if router.record(tool_id) is None:
            return failure(404, f"there is no tool {tool_id!r}", "tool_id")
        return await changed(none_left)

    return routes
