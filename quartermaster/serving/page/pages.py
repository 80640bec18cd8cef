"""The paths of the pages: `/`, `/tools`, `/tools/{id}`, `/compare`, and the style sheet."""

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from quartermaster.serving import status_of
from quartermaster.serving.page.browsing import list_providers, list_tools
from quartermaster.serving.page.comparing import SnapshotCache, last_two, rank_changes
from quartermaster.serving.page.form import RouteForm
from quartermaster.serving.page.home import CatalogCost, CostCache, facts, sample_requests
from quartermaster.serving.page.rank_chart import WIDTH, axis_position, axis_ticks, charted_signals, rank_rows
from quartermaster.serving.page.rendering import render
from quartermaster.serving.page.tool_page import InspectTool, diagnosis_values, tool_values
from quartermaster.serving.profiles import Caller
from router.errors import QuartermasterError
from router.provider_formats import Detail
from router.record import Kind
from router.retrieval.recipe import RECIPES
from router.router import Router
from router.snapshot.trust import Trust

RunInThread = Callable[[Callable[[], Response]], Awaitable[Response]]
_Page = Callable[..., Response]
_COMPARED = 10  # tools of each answer that are compared
_MAX_REQUEST = 4_000  # characters; the forms take no more


def pages(
    caller_of: Callable[[Request], Caller],
    run_in_thread: RunInThread,
    folder: Path | None,
    inspect: InspectTool | None,
    cost: CatalogCost | None,
    trust: Trust | None,
) -> APIRouter:
    """Return the paths of the pages. `folder`, `inspect` and `cost` are those of `quartermaster.serving.http.app`;
    snapshots that `trust` refuses are not compared.

    `caller_of` returns who sent a request: a caller whose profile
    leaves tools out sees records alone, since the inspection database and other snapshots tell of other tools.
    """
    routes = APIRouter(include_in_schema=False, default_response_class=Response)
    snapshots = SnapshotCache(folder, trust) if folder else None
    costs = CostCache(snapshots, cost)
    one_comparison = CapacityLimiter(1)  # it opens snapshots, beside the threads that route
    style = files(__package__).joinpath("style.css").read_bytes()

    def page_of(caller: Caller) -> _Page:
        def page(template: str, title: str, status: int = 200, **values: Any) -> Response:
            router, comparable = caller.router, snapshots is not None and caller.sees_all
            common = {"title": title, "manifest": router.manifest, "tools": len(router), "comparable": comparable}
            return Response(render(template, {**common, **values}), status, media_type="text/html")

        return page

    @routes.get("/")
    async def route(request: Request) -> Response:
        form = RouteForm.from_query(request.query_params)
        caller = caller_of(request)
        return await run_in_thread(lambda: _route_page(caller, form, costs, page_of(caller)))

    @routes.get("/tools")
    async def browse(request: Request, q: str = "", provider: str = "", after: str = "") -> Response:
        caller = caller_of(request)

        def listing_page() -> Response:
            listing = list_tools(caller.router, q, provider, after)
            caller.actions.offer(record.tool_id for record, _ in listing.tools)
            values = {"q": q, "provider": provider, "after": after, "listing": listing}
            return page_of(caller)("browse.jinja", "Tools", **values, providers=list_providers(caller.router))

        return await run_in_thread(listing_page)

    @routes.get("/tools/{tool_id:path}")
    async def tool(tool_id: str, http_request: Request, request: str = "") -> Response:
        caller = caller_of(http_request)
        router, page = caller.router, page_of(caller)

        def tool_page() -> Response:
            values = tool_values(router, tool_id, snapshots, inspect if caller.sees_all else None)
            if values is None:
                return page("missing.jinja", "No such tool", 404, tool_id=tool_id)
            caller.actions.described.append(tool_id)
            if asked := request[:_MAX_REQUEST].strip():
                caller.actions.texts.append(asked)
            return page("tool.jinja", tool_id, **values, **diagnosis_values(router, tool_id, asked))

        return await run_in_thread(tool_page)

    @routes.get("/compare")
    async def compare(http_request: Request, request: str = "", a: str = "", b: str = "") -> Response:
        caller = caller_of(http_request)
        compared = snapshots if caller.sees_all else None
        comparison = partial(_comparison_page, caller.router, compared, request.strip(), a, b, page_of(caller))
        return await to_thread.run_sync(comparison, limiter=one_comparison)

    @routes.get("/style.css")
    async def style_sheet() -> Response:
        return Response(style, media_type="text/css", headers={"Cache-Control": "no-cache"})

    return routes


def _route_page(caller: Caller, form: RouteForm, costs: CostCache, page: _Page) -> Response:
    router = caller.router
    choices: dict[str, Any] = {"form": form, "recipes": list(RECIPES), "details": list(Detail), "kinds": list(Kind)}
    title = f"{form.request[:60]} · routed" if form.request else "Route a request"
    choices |= {"routed": None, "problem": ""}
    if not form.request:
        manifest = router.manifest
        catalog = {
            "samples": sample_requests(router),
            "providers": list_providers(router),
            "facts": facts(manifest, len(router), costs.of(manifest.snapshot) if caller.sees_all else None),
        }
        return page("home.jinja", title, **choices, **catalog)
    try:
        arguments = form.arguments()
        routed = router.route(form.request, explain=True, feedback=False, **arguments)
    except QuartermasterError as error:
        return page("route.jinja", title, status_of(error), **{**choices, "problem": str(error)})
    caller.actions.offer(routed.offered, [form.request])
    depth = router.recipe(arguments["recipe"]).depth
    signals = charted_signals(routed, router.manifest.signals)
    rows = [rank_rows(tool, signals, depth) for tool in routed]
    chart = {"rank_rows": rows, "ticks": axis_ticks(depth), "width": WIDTH, "depth": depth, "at": axis_position}
    return page("route.jinja", title, **{**choices, "routed": routed}, **chart)


def _comparison_page(
    router: Router,
    snapshots: SnapshotCache | None,
    request: str,
    before: str,
    after: str,
    page: _Page,
) -> Response:
    values: dict[str, Any] = {"request": request, "snapshots": [], "answers": None, "changes": [], "problem": ""}
    values["difference"] = None
    if snapshots is None:
        values["problem"] = "the server was started without the folder of a catalog"
        return page("compare.jinja", "Compare", 404, **values)
    stored = values["snapshots"] = snapshots.snapshots()
    older, newest = last_two(stored) if stored else ("", "")
    before, after = before or older, after or newest
    values |= {"a": before, "b": after}
    try:
        if before != after:
            values["difference"] = snapshots.difference(before, after)
        if request:
            answers = tuple(snapshots.opened(name).route(request, k=_COMPARED) for name in (before, after))
            values |= {"answers": answers, "changes": rank_changes(*answers)}
    except QuartermasterError as error:
        return page("compare.jinja", "Compare", status_of(error), **{**values, "problem": str(error)})
    return page("compare.jinja", "Compare", **values)
