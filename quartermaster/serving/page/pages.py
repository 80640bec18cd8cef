"""The paths of the pages: `/`, `/tools`, `/tools/{id}`, and the style sheet."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from quartermaster.serving import status_of
from quartermaster.serving.page.browsing import list_providers, list_tools
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

RunInThread = Callable[[Callable[[], Response]], Awaitable[Response]]
_MAX_REQUEST = 4_000  # characters; the forms take no more


def pages(
    caller_of: Callable[[Request], Caller],
    run_in_thread: RunInThread,
    inspect: InspectTool | None,
    cost: CatalogCost | None,
) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """Return the pages by path. `inspect` and `cost` are those of `quartermaster.serving.http.app`.

    `caller_of` returns who sent a request. A caller whose profile leaves tools out sees records alone: the inspection
    database tells of other tools.
    """
    costs = CostCache(cost)
    style = files(__package__).joinpath("style.css").read_bytes()

    async def route(request: Request) -> Response:
        form, caller = RouteForm.from_query(request.query_params), caller_of(request)
        return await run_in_thread(lambda: _route_page(caller, form) if form.request else _home_page(caller, costs))

    async def browse(request: Request) -> Response:
        caller = caller_of(request)
        router = caller.router
        q, provider, after = (request.query_params.get(name, "") for name in ("q", "provider", "after"))

        def listing_page() -> Response:
            listing = list_tools(router, q, provider, after)
            caller.actions.offer(record.tool_id for record, _ in listing.tools)
            values: dict[str, Any] = {"q": q, "provider": provider, "after": after, "listing": listing}
            return _page(router, "browse.jinja", "Tools", **values, providers=list_providers(router))

        return await run_in_thread(listing_page)

    async def tool(request: Request) -> Response:
        caller, tool_id = caller_of(request), request.path_params["tool_id"]
        router, asked = caller.router, request.query_params.get("request", "")[:_MAX_REQUEST].strip()

        def tool_page() -> Response:
            values = tool_values(router, tool_id, inspect if caller.sees_all else None)
            if values is None:
                return _page(router, "missing.jinja", "No such tool", 404, tool_id=tool_id)
            caller.actions.described.append(tool_id)
            if asked:
                caller.actions.texts.append(asked)
            return _page(router, "tool.jinja", tool_id, **values, **diagnosis_values(router, tool_id, asked))

        return await run_in_thread(tool_page)

    async def style_sheet(_: Request) -> Response:
        return Response(style, media_type="text/css", headers={"Cache-Control": "no-cache"})

    return {"/": route, "/tools": browse, "/tools/{tool_id:path}": tool, "/style.css": style_sheet}


def _page(router: Router, template: str, title: str, status: int = 200, **values: Any) -> Response:
    common = {"title": title, "manifest": router.manifest, "tools": len(router)}
    return HTMLResponse(render(template, {**common, **values}), status)


def _home_page(caller: Caller, costs: CostCache) -> Response:
    router = caller.router
    catalog: dict[str, Any] = {
        "samples": sample_requests(router),
        "providers": list_providers(router),
        "facts": facts(router.manifest, len(router), costs.of(router.folder) if caller.sees_all else None),
    }
    return _page(router, "home.jinja", "Route a request", **_choices(RouteForm()), **catalog)


def _route_page(caller: Caller, form: RouteForm) -> Response:
    router, title, choices = caller.router, f"{form.request[:60]} · routed", _choices(form)
    try:
        arguments = form.arguments()
        routed = router.route(form.request, **arguments)
    except QuartermasterError as error:
        return _page(router, "route.jinja", title, status_of(error), **{**choices, "problem": str(error)})
    caller.actions.offer(routed.offered, [form.request])
    depth = router.recipe(arguments["recipe"]).depth
    signals = charted_signals(routed, router.manifest.signals)
    rows = [rank_rows(tool, signals, depth) for tool in routed]
    axis = {"ticks": axis_ticks(depth), "width": WIDTH, "depth": depth, "at": axis_position}
    chart: dict[str, Any] = {"rank_rows": rows, **axis}
    return _page(router, "route.jinja", title, **{**choices, "routed": routed}, **chart)


def _choices(form: RouteForm) -> dict[str, Any]:
    lists: dict[str, Any] = {"recipes": list(RECIPES), "details": list(Detail), "kinds": list(Kind)}
    return {"form": form, **lists, "routed": None, "problem": ""}
