"""GET /v1/tools, /v1/tools/{tool_id} and /v1/snapshot. Docstrings of paths are published in the OpenAPI document."""

from bisect import bisect_right
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from quartermaster.serving.http import responses
from quartermaster.serving.http.errors import failure, json_response
from quartermaster.serving.http.openapi import GUARD_FAILURES, LOOKUP_FAILURES, failures, success
from quartermaster.serving.http.service import Service
from router.record import ToolRecord
from router.router import Router

_After = Annotated[str, Query(max_length=512, description="Continue after this id: `next` of the page before.")]
_Limit = Annotated[int, Query(ge=1, le=500, description="The most tools of a page.")]
ToolId = Annotated[str, Path(min_length=1, max_length=512)]


def catalog_paths(service: Service) -> APIRouter:
    """Return the paths that show the catalog that is served."""
    routes = APIRouter(prefix="/v1", tags=["catalog"])

    @routes.get("/tools", responses={**success(responses.ToolPageJson), **GUARD_FAILURES, **failures(422)})
    async def tools(request: Request, after: _After = "", limit: _Limit = 50) -> Response:
        """The tools by id, page by page."""
        caller = service.caller_of(request)
        router = caller.router

        def page() -> dict[str, Any]:
            records, next_after = tools_after(router, after, limit)
            caller.actions.offer(record.tool_id for record in records)
            return {
                "tools": [record_json(router, record) for record in records],
                "next": next_after,
                "total": len(router.tools),
            }

        return json_response(await service.run_in_thread(page))

    @routes.get("/tools/{tool_id:path}", responses={**success(responses.RecordJson), **LOOKUP_FAILURES})
    async def tool(tool_id: ToolId, request: Request) -> Response:
        """One tool's record."""
        caller = service.caller_of(request)
        router = caller.router
        record = router.record(tool_id)
        if record is None:
            return failure(404, f"the snapshot {router.manifest.snapshot} has no tool {tool_id!r}", "tool_id")
        caller.actions.described.append(record.tool_id)
        row = record_json(router, record)
        if instructions := router.instructions(tool_id):
            row["instructions"] = instructions
        return json_response(row)

    @routes.get("/snapshot", responses={**success(responses.SnapshotJson), **GUARD_FAILURES})
    async def snapshot(request: Request) -> Response:
        """The snapshot that serves."""
        router = service.caller_of(request).router
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


def record_json(router: Router, record: ToolRecord) -> dict[str, Any]:
    """Return a record as a model may read it, with what was withheld of it and whether it can be called."""
    handed = router.handed(record)
    withheld = [part.to_json() for part in handed.withheld]
    return {**handed.record.to_json(), "withheld": withheld, "unusable": handed.unusable}


def tools_after(router: Router, after: str, limit: int) -> tuple[list[ToolRecord], str | None]:
    """Return up to `limit` tools whose ids sort after `after`, and the id to continue after, None at the end.

    `after` need not be the id of a tool; "" starts at the first.
    """
    served = router.tools
    begin = bisect_right(served, after, key=lambda record: record.tool_id) if after else 0
    end = min(begin + limit, len(served))
    records = [served[position] for position in range(begin, end)]
    return records, records[-1].tool_id if records and end < len(served) else None
