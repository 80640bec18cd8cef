"""The paths of the pages: `/`, `/tools`, `/tools/{id}`, and the style sheet."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from quartermaster.serving import status_of
from quartermaster.serving.page import routing
from quartermaster.serving.page.catalog import CatalogCost, facts, list_tools, remembered, sample_requests
from quartermaster.serving.page.rendering import percent, render
from quartermaster.serving.profiles import Caller
from router.answer.diagnosis import Diagnosis
from router.answer.verdict import advice, verdict
from router.errors import QuartermasterError
from router.router import Router

# Takes a snapshot's folder and a tool's id. Returns a `pipeline.inspection` ToolInspection. Raises QuartermasterError
# if the database or the tool is missing.
InspectTool = Callable[[Path, str], Any]
ShowPage = Callable[[Request, Caller], Response]
_MAX_REQUEST = 4_000  # characters; the forms take no more
_DROPPED = "dropped"


def pages(inspect: InspectTool | None, cost: CatalogCost | None) -> dict[str, ShowPage]:
    """Return the pages by path. `inspect` and `cost` are those of `quartermaster.serving.http.app`.

    A caller whose profile leaves tools out sees records alone: the inspection database knows other tools.
    """
    cost_of = remembered(cost)
    style = files(__package__).joinpath("style.css").read_bytes()

    def route(request: Request, caller: Caller) -> Response:
        form = routing.form_of(request.query_params)
        if form["request"]:
            return _answer(caller, form)
        router = caller.router
        samples, judged = sample_requests(router)
        known = facts(router.manifest, len(router), cost_of(router.folder) if caller.sees_all else None)
        values: dict[str, Any] = {"samples": samples, "judged": judged, "facts": known, "providers": router.providers}
        return _page(router, "route.jinja", "Route a request", form=form, filtered=False, **values)

    def browse(request: Request, caller: Caller) -> Response:
        router = caller.router
        q, provider, after = (request.query_params.get(name, "") for name in ("q", "provider", "after"))
        listing = list_tools(router, q, provider, after)
        caller.actions.offer(record.tool_id for record, _ in listing.tools)
        values: dict[str, Any] = {"q": q, "provider": provider, "after": after, "listing": listing}
        return _page(router, "browse.jinja", "Tools", **values, providers=router.providers)

    def tool(request: Request, caller: Caller) -> Response:
        router, tool_id = caller.router, request.path_params["tool_id"]
        asked = request.query_params.get("request", "")[:_MAX_REQUEST].strip()
        values = tool_values(router, tool_id, inspect if caller.sees_all else None)
        if values is None:
            missing = f"The snapshot has no tool {tool_id!r}: the list of tools finds one by name."
            return _page(router, "error.jinja", "No such tool", 404, message=missing)
        caller.actions.described.append(tool_id)
        caller.actions.texts += [asked] if asked else []
        return _page(router, "tool.jinja", tool_id, **values, **_diagnosis_values(router, tool_id, asked))

    def style_sheet(_request: Request, _caller: Caller) -> Response:
        return Response(style, media_type="text/css", headers={"Cache-Control": "no-cache"})

    return {"/": route, "/tools": browse, "/tools/{tool_id:path}": tool, "/style.css": style_sheet}


def _page(router: Router, template: str, title: str, status: int = 200, **values: Any) -> Response:
    common = {"title": title, "status": status, "manifest": router.manifest, "tools": len(router)}
    return HTMLResponse(render(template, {**common, **values}), status)


def _answer(caller: Caller, form: dict[str, str]) -> Response:
    """Return the page of a request: its answer, or why there is none."""
    router, request = caller.router, form["request"]
    values: dict[str, Any] = {"form": form, "filtered": routing.is_filtered(form)}
    status = 200
    try:
        options = routing.options_of(form)
        routed = router.route(request, **options)
    except QuartermasterError as error:
        status, values["problem"] = status_of(error), str(error)
    else:
        caller.actions.offer(routed.offered, [request])
        depth = router.recipe(options["recipe"]).depth
        signals = routing.charted_signals(routed, router.manifest.signals)
        rows = [routing.rank_rows(tool, signals, depth) for tool in routed]
        axis = {"ticks": routing.axis_ticks(depth), "width": routing.WIDTH, "at": routing.axis_position}
        values |= {"routed": routed, "rank_rows": rows, "depth": depth, **axis}
    return _page(router, "route.jinja", f"{request[:60]} · routed", status, **values)


def tool_values(router: Router, tool_id: str, inspect: InspectTool | None) -> dict[str, Any] | None:
    """Return the values of the template of a tool's page, None if no such tool is served."""
    record = router.record(tool_id)
    if record is None:
        return None
    inspected, problem, folder = None, "", router.folder
    if folder is None or inspect is None:
        problem = "this page is served without access to catalog.duckdb"
    else:
        try:
            inspected = inspect(folder, tool_id)
        except QuartermasterError as error:  # the tool was registered at run time, or there is no database
            problem = str(error)
    return {
        "record": record,
        "instructions": router.instructions(tool_id),
        "inspected": inspected,
        "problem": problem,
        "phrases": _phrases(inspected) if inspected else [],
        "needs": router.prerequisites(tool_id),
        "needed_by": router.needed_by(tool_id),
        "tokens": router.tokens(tool_id) or {},
        "counter": router.manifest.token_counter,
    }


def _phrases(inspected: Any) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Return (phrase, other tools that have it, verdict, reason) of each phrase, those that are indexed first."""
    verdicts = inspected.verdicts.only("check_name", "consequence", "text", "detail").rows
    reasons = {text: (check, detail) for check, consequence, text, detail in verdicts if consequence != _DROPPED}
    indexed = [
        (phrase, tuple(also or ()), "indexed", ": ".join(filter(None, reasons.get(phrase, ()))))
        for phrase, also in inspected.phrases.rows
    ]
    dropped = [
        (text, (), "left out", f"{check}: {detail}" if detail else check)
        for check, consequence, text, detail in verdicts
        if consequence == _DROPPED
    ]
    return [*indexed, *dropped]


def _diagnosis_values(router: Router, tool_id: str, request: str) -> dict[str, Any]:
    """Return the values of the part of a tool's page that says why a request finds it, or does not."""
    values: dict[str, Any] = {"request": request, "diagnosis": None, "failed": ""}
    if not request:
        return values
    try:
        diagnosis = router.diagnose(request, tool_id)
    except QuartermasterError as error:
        return {**values, "failed": str(error)}
    shares = [_share(diagnosis, diagnosis.tool.contributions.get(place.signal)) for place in diagnosis.lists]
    said = {"verdict": verdict(diagnosis), "advice": advice(diagnosis)}
    return {**values, "diagnosis": diagnosis, "places": list(zip(diagnosis.lists, shares, strict=True)), **said}


def _share(diagnosis: Diagnosis, contribution: float | None) -> str:
    score = diagnosis.tool.score
    return percent(contribution / score) if contribution and score > 0 else "–"
