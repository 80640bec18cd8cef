"""The pages' paths: `/`, `/tools`, `/tools/{id}`, `/compare`, and the one style sheet."""

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
from router.serving.page.asked import Asked
from router.serving.page.browsing import listed
from router.serving.page.comparing import SnapshotCache, moved
from router.serving.page.inspecting import Inspect
from router.serving.page.picture import WIDTH, signals_of, strips, ticks
from router.serving.page.rendering import render
from router.serving.page.tool import about
from router.serving.status import status_of

Aside = Callable[[Callable[[], Response]], Awaitable[Response]]
_SHOWN = 10  # places that are compared


def pages(router: Router, aside: Aside, folder: Path | None, inspect: Inspect | None) -> APIRouter:
    """The paths of the pages. `aside` runs what would hold up the event loop; the rest is as `http.app` takes it."""
    routes = APIRouter(include_in_schema=False, default_response_class=Response)
    shelf = SnapshotCache(folder) if folder else None
    comparing = CapacityLimiter(1)  # it opens snapshots, beside the threads that route
    style = files(__package__).joinpath("style.css").read_bytes()

    def page(template: str, title: str, status: int = 200, **facts: Any) -> Response:
        manifest = router.manifest
        common = {"title": title, "manifest": manifest, "tools": len(router), "comparable": shelf is not None}
        return Response(render(template, {**common, **facts}), status, media_type="text/html")

    @routes.get("/")
    async def route(request: Request) -> Response:
        asked = Asked.read(request.query_params)
        return await aside(lambda: _routed(router, asked, page))

    @routes.get("/tools")
    async def browse(q: str = "", provider: str = "", after: str = "") -> Response:
        def found() -> Response:
            return page("browse.jinja", "Tools", listed=listed(router, q, provider, after), q=q, provider=provider)

        return await aside(found)

    @routes.get("/tools/{tool_id:path}")
    async def tool(tool_id: str) -> Response:
        def found() -> Response:
            facts = about(router, tool_id, shelf, inspect)
            if facts is None:
                return page("missing.jinja", "No such tool", 404, tool_id=tool_id)
            return page("tool.jinja", tool_id, **facts)

        return await aside(found)

    @routes.get("/compare")
    async def compare(request: str = "", a: str = "", b: str = "") -> Response:
        compared = partial(_compared, router, shelf, (request.strip(), a, b), page)
        return await to_thread.run_sync(compared, limiter=comparing)

    @routes.get("/style.css")
    async def style_sheet() -> Response:
        return Response(style, media_type="text/css", headers={"Cache-Control": "no-cache"})

    return routes


def _routed(router: Router, asked: Asked, page: Callable[..., Response]) -> Response:
    offered = {"asked": asked, "recipes": list(RECIPES), "details": list(Detail)}
    title = f"{asked.request[:60]} · routed" if asked.request else "Route a request"
    if not asked.request:
        return page("route.jinja", title, routed=None, problem="", **offered)
    try:
        arguments = asked.arguments()
        routed = router.route(asked.request, explain=True, **arguments)
    except QuartermasterError as error:
        return page("route.jinja", title, status_of(error), routed=None, problem=str(error), **offered)
    depth = router.recipe(arguments["recipe"]).depth
    signals = signals_of(routed, router.manifest.signals)
    drawn = [strips(tool, signals, depth) for tool in routed]
    picture = {"drawn": drawn, "ticks": ticks(depth), "width": WIDTH, "depth": depth}
    return page("route.jinja", title, routed=routed, problem="", **offered, **picture)


def _compared(
    router: Router, shelf: SnapshotCache | None, given: tuple[str, str, str], page: Callable[..., Response]
) -> Response:
    request, before, after = given
    facts: dict[str, Any] = {"request": request, "snapshots": [], "answers": None, "moved": [], "problem": ""}
    if shelf is None:
        facts["problem"] = "the server was started without the folder of a catalog"
        return page("compare.jinja", "Compare", 404, **facts)
    stored = facts["snapshots"] = shelf.snapshots()
    names = [one.name for one in stored]
    serving = router.manifest.snapshot
    older = next((name for name in names if name < serving), serving)
    facts["a"], facts["b"] = before, after = before or older, after or serving
    if not request:
        return page("compare.jinja", "Compare", **facts)
    try:
        answers = tuple(shelf.opened(name).route(request, k=_SHOWN) for name in (before, after))
    except QuartermasterError as error:
        return page("compare.jinja", "Compare", status_of(error), **{**facts, "problem": str(error)})
    return page("compare.jinja", "Compare", **{**facts, "answers": answers, "moved": moved(*answers)})
