"""GET /v1/tools, /v1/tools/{tool_id}, /v1/snapshot. Docstrings of handlers are published in the OpenAPI document."""

from bisect import bisect_right
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from quartermaster.serving.http.answers import Snapshot, ToolPage
from quartermaster.serving.http.errors import failure, json_response
from quartermaster.serving.http.openapi import GUARD_FAILURES, LOOKUP_FAILURES, Operation
from quartermaster.serving.http.requests import Page, query_of
from quartermaster.serving.http.service import Service
from router.record import ToolRecord
from router.router import Router


def catalog_operations(service: Service) -> list[Operation]:
    """Return the operations that show the catalog that is served."""

    async def tools(request: Request) -> Response:
        """The tools by id, page by page."""
        caller = service.caller_of(request)
        router, asked = caller.router, query_of(request, Page)

        def page() -> dict[str, Any]:
            records, next_after = tools_after(router, asked.after, asked.limit)
            caller.actions.offer(record.tool_id for record in records)
            return {
                "tools": [record_json(router, record) for record in records],
                "next": next_after,
                "total": len(router.tools),
            }

        return json_response(await service.run_in_thread(page))

    async def tool(request: Request) -> Response:
        """One tool's record."""
        caller, tool_id = service.caller_of(request), request.path_params["tool_id"]
        router = caller.router
        record = router.record(tool_id)
        if record is None:
            return failure(404, f"the snapshot {router.manifest.snapshot} has no tool {tool_id!r}", "tool_id")
        caller.actions.described.append(record.tool_id)
        row = record_json(router, record)
        if instructions := router.instructions(tool_id):
            row["instructions"] = instructions
        return json_response(row)

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

    def get(path: str, **parts: Any) -> Operation:
        return Operation(method="GET", path=f"/v1/{path}", tag="catalog", **parts)

    return [
        get("tools", handle=tools, query=Page, answer=ToolPage, failures=(*GUARD_FAILURES, 422)),
        get("tools/{tool_id:path}", handle=tool, answer=ToolRecord, failures=LOOKUP_FAILURES),
        get("snapshot", handle=snapshot, answer=Snapshot, failures=GUARD_FAILURES),
    ]


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
