"""The paths of the pages: `/`, `/tools`, `/tools/{id}`, `/compare`, and the style sheet."""

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from router.errors import QuartermasterError
from router.provider_formats import Detail
from router.retrieval.recipe import RECIPES
from router.router import Router
from router.serving import status_of
from router.serving.page.browsing import list_tools
from router.serving.page.comparing import SnapshotCache, rank_changes
from router.serving.page.form import RouteForm
from router.serving.page.rank_chart import WIDTH, axis_ticks, charted_signals, rank_rows
from router.serving.page.rendering import render
from router.serving.page.tool_page import InspectTool, tool_values

RunInThread = Callable[[Callable[[], Response]], Awaitable[Response]]
_COMPARED = 10  # tools of each answer that are compared


def pages(router: Router, run_in_thread: RunInThread, folder: Path | None, inspect: InspectTool | None) -> APIRouter:
    """Return the paths of the pages. `folder` and `inspect` are those of `router.serving.http.app`."""
    routes = APIRouter(include_in_schema=False, default_response_class=Response)
    snapshots = SnapshotCache(folder) if folder else None
    one_comparison = CapacityLimiter(1)  # it opens snapshots, beside the threads that route
    style = files(__package__).joinpath("style.css").read_bytes()

    def page(template: str, title: str, status: int = 200, **values: Any) -> Response:
        manifest = router.manifest
        common = {"title": title, "manifest": manifest, "tools": len(router), "comparable": snapshots is not None}
        return Response(render(template, {**common, **values}), status, media_type="text/html")

    @routes.get("/")
    async def route(request: Request) -> Response:
        form = RouteForm.from_query(request.query_params)
        return await run_in_thread(lambda: _route_page(router, form, page))

    @routes.get("/tools")
    async def browse(q: str = "", provider: str = "", after: str = "") -> Response:
        def listing_page() -> Response:
            listing = list_tools(router, q, provider, after)
            return page("browse.jinja", "Tools", listing=listing, q=q, provider=provider)

        return await run_in_thread(listing_page)

    @routes.get("/tools/{tool_id:path}")
    async def tool(tool_id: str) -> Response:
        def tool_page() -> Response:
            values = tool_values(router, tool_id, snapshots, inspect)
            if values is None:
                return page("missing.jinja", "No such tool", 404, tool_id=tool_id)
            return page("tool.jinja", tool_id, **values)

        return await run_in_thread(tool_page)

    @routes.get("/compare")
    async def compare(request: str = "", a: str = "", b: str = "") -> Response:
        comparison = partial(_comparison_page, router, snapshots, request.strip(), a, b, page)
        return await to_thread.run_sync(comparison, limiter=one_comparison)

    @routes.get("/style.css")
    async def style_sheet() -> Response:
        return Response(style, media_type="text/css", headers={"Cache-Control": "no-cache"})

    return routes


def _route_page(router: Router, form: RouteForm, page: Callable[..., Response]) -> Response:
    choices = {"form": form, "recipes": list(RECIPES), "details": list(Detail)}
    title = f"{form.request[:60]} · routed" if form.request else "Route a request"
    if not form.request:
        return page("route.jinja", title, routed=None, problem="", **choices)
    try:
        arguments = form.arguments()
        routed = router.route(form.request, explain=True, **arguments)
    except QuartermasterError as error:
        return page("route.jinja", title, status_of(error), routed=None, problem=str(error), **choices)
    depth = router.recipe(arguments["recipe"]).depth
    signals = charted_signals(routed, router.manifest.signals)
    rows = [rank_rows(tool, signals, depth) for tool in routed]
    chart = {"rank_rows": rows, "ticks": axis_ticks(depth), "width": WIDTH}
    return page("route.jinja", title, routed=routed, problem="", **choices, **chart)


def _comparison_page(
    router: Router,
    snapshots: SnapshotCache | None,
    request: str,
    before: str,
    after: str,
    page: Callable[..., Response],
) -> Response:
    values: dict[str, Any] = {"request": request, "snapshots": [], "answers": None, "changes": [], "problem": ""}
    if snapshots is None:
        values["problem"] = "the server was started without the folder of a catalog"
        return page("compare.jinja", "Compare", 404, **values)
    stored = values["snapshots"] = snapshots.snapshots()
    serving = router.manifest.snapshot
    older = next((one.name for one in stored if one.name < serving), serving)
    values["a"], values["b"] = before, after = before or older, after or serving
    if not request:
        return page("compare.jinja", "Compare", **values)
    try:
        answers = tuple(snapshots.opened(name).route(request, k=_COMPARED) for name in (before, after))
    except QuartermasterError as error:
        return page("compare.jinja", "Compare", status_of(error), **{**values, "problem": str(error)})
    return page("compare.jinja", "Compare", **{**values, "answers": answers, "changes": rank_changes(*answers)})
