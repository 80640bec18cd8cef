"""GET /v1/tools, /v1/tools/{tool_id} and /v1/snapshot; PUT and DELETE of tools at run time."""

from bisect import bisect_right
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from router.record import ToolRecord
from router.router import Router
from router.serving.http import answers
from router.serving.http.documented import FAILURES, GATE, failures, json_of
from router.serving.http.errors import failure, json_response
from router.serving.http.service import Service

_After = Annotated[str, Query(max_length=512, description="Continue after this id: `next` of the page before.")]
_Limit = Annotated[int, Query(ge=1, le=500, description="The most tools of a page.")]
ToolId = Annotated[str, Path(min_length=1, max_length=512)]


def catalog(service: Service) -> APIRouter:
    """The paths that show what is served."""
    routes = APIRouter(prefix="/v1", tags=["catalog"])
    router = service.router

    @routes.get("/tools", responses={**json_of(answers.ToolPage), **GATE, **failures(422)})
    async def tools(after: _After = "", limit: _Limit = 50) -> Response:
        """The tools by id, page by page."""

        def page() -> dict[str, Any]:
            found, following = tools_after(router, after, limit)
            return {"tools": [tool.to_json() for tool in found], "next": following, "total": len(router.tools)}

        return json_response(await service.aside(page))

    @routes.get("/tools/{tool_id:path}", responses={**json_of(answers.RecordJson), **FAILURES})
    async def tool(tool_id: ToolId) -> Response:
        """One tool's record."""
        record = router.record(tool_id)
        if record is None:
            return failure(404, f"the snapshot {router.manifest.snapshot} has no tool {tool_id!r}", "tool_id")
        return json_response(record.to_json())

    @routes.get("/snapshot", responses={**json_of(answers.SnapshotJson), **GATE})
    async def snapshot() -> Response:
        """The snapshot that serves."""
        manifest = router.manifest
        return json_response(
            {
                "snapshot": manifest.snapshot,
                "catalog": manifest.catalog,
                "created_at": manifest.created_at,
                "tools": len(router),
                "signals": [str(signal) for signal in manifest.signals],
                "languages": list(manifest.languages),
                "encoder": manifest.encoder.model if manifest.encoder else None,
                "recipe": str(manifest.recipe.get("name", "custom")),
                "token_counter": manifest.token_counter,
                "counts": dict(manifest.counts),
                "generators": dict(manifest.generators),
            }
        )

    return routes


def tools_after(router: Router, after: str, limit: int) -> tuple[list[ToolRecord], str | None]:
    """The first tools behind an id, which need not be one, and the id to go on behind, None at the end."""
    served = router.tools
    begin = bisect_right(served, after, key=lambda record: record.tool_id) if after else 0
    found = [served[at] for at in range(begin, min(begin + limit, len(served)))]
    return found, found[-1].tool_id if found and begin + limit < len(served) else None
