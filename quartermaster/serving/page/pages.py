"""The paths of the pages: `/`, `/tools`, `/tools/{id}`, `/misses`, `/left-out`, `/builds`, and the style sheet."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from quartermaster.evaluation.verdict import advice, verdict
from quartermaster.serving import status_of
from quartermaster.serving.page.catalog import facts, list_tools, sample_requests
from quartermaster.serving.page.forms import MAX_REQUEST, changed, form_of, is_filtered, options_of
from quartermaster.serving.page.rendering import render
from quartermaster.serving.profiles import Caller
from quartermaster.serving.suggestions import MAX_PHRASE, Suggestions
from router.answer.results import RoutedTool, RoutedTools
from router.contract import DOCUMENT_SIGNALS, Signal
from router.errors import QuartermasterError
from router.router import Router

# Takes a snapshot's folder, returns an opened `pipeline.inspection` Inspection. Raises QuartermasterError without one.
OpenInspection = Callable[[Path], Any]
ShowPage = Callable[[Request, Caller], Response]
_MOST_BUILDS = 60  # rows
_DROPPED = "dropped"
_STYLE = files(__package__).joinpath("style.css").read_bytes()
_MOST_LEFT_OUT, _MOST_WORST = 500, 100  # rows


def pages(inspect: OpenInspection | None, suggestions: Suggestions | None = None) -> dict[str, ShowPage]:
    """Return the pages by path. `inspect` is that of `quartermaster.serving.http.app`; with `suggestions`, the page of
    a tool has a form for them.

    A caller whose profile leaves tools out sees only records: the inspection database knows other tools.
    """
    shown: dict[str, ShowPage] = {"/": _route, "/tools": _browse, "/style.css": _style_sheet}
    shown["/tools/{tool_id:path}"] = partial(_tool, inspect, MAX_PHRASE if suggestions else 0)
    inspected = {"/misses": _misses, "/left-out": _left_out, "/builds": _builds}
    return shown | {path: partial(show, inspect) for path, show in inspected.items()}


def _route(request: Request, caller: Caller) -> Response:
    form = form_of(request.query_params)
    if form["request"]:
        return _answer(caller, form, request.query_params)
    router = caller.router
    samples, judged = sample_requests(router)
    values: dict[str, Any] = {"samples": samples, "judged": judged, "providers": router.providers}
    values["facts"] = facts(router.manifest, len(router))
    return _page(router, "route.jinja", "Route a request", form=form, filtered=False, **values)


def _browse(request: Request, caller: Caller) -> Response:
    router = caller.router
    q, provider, after = (request.query_params.get(name, "") for name in ("q", "provider", "after"))
    listing = list_tools(router, q, provider, after)
    caller.actions.offer(record.tool_id for record, _ in listing.tools)
    values: dict[str, Any] = {"q": q, "provider": provider, "after": after, "listing": listing}
    return _page(router, "browse.jinja", "Tools", **values, providers=router.providers)


def _tool(inspect: OpenInspection | None, max_phrase: int, request: Request, caller: Caller) -> Response:
    router, tool_id = caller.router, request.path_params["tool_id"]
    asked = request.query_params.get("request", "")[:MAX_REQUEST].strip()
    record = router.record(tool_id)
    if record is None:
        missing = f"The snapshot has no tool {tool_id!r}."
        return _page(router, "base.jinja", "No such tool", 404, message=missing)
    caller.actions.described.append(tool_id)
    if asked:
        caller.actions.texts.append(asked)
    inspected, problem = _inspected(inspect, caller, lambda opened: opened.tool(tool_id))
    values: dict[str, Any] = {
        "record": record,
        "instructions": router.instructions(tool_id),
        "inspected": inspected,
        "problem": problem,
        "phrases": _phrases(inspected) if inspected else [],
        "needs": router.prerequisites(tool_id),
        "needed_by": router.needed_by(tool_id),
        "tokens": router.tokens(tool_id) or {},
        "max_phrase": max_phrase,
        "suggested": request.query_params.get("suggested", ""),
    }
    return _page(router, "tool.jinja", tool_id, **values, **_diagnosis_values(router, tool_id, asked))


def _misses(inspect: OpenInspection | None, _request: Request, caller: Caller) -> Response:
    worst, problem = _inspected(inspect, caller, lambda opened: opened.table("worst_tools", _MOST_WORST))
    router = caller.router
    evaluation = (router.manifest.evaluation or {}) if caller.sees_all else {}
    values: dict[str, Any] = {"worst": worst, "problem": problem, "evaluation": evaluation, "sees_all": caller.sees_all}
    values |= {"sample": next((tool.tool_id for tool in router.tools), "…"), "reports": router.feedback_log is not None}
    return _page(router, "misses.jinja", "Misses", **values)


def _left_out(inspect: OpenInspection | None, request: Request, caller: Caller) -> Response:
    chosen = request.query_params.get("check", "")
    found, problem = _inspected(inspect, caller, lambda opened: _rows_left_out(opened, chosen))
    counts, rows = found or ([], [])
    values: dict[str, Any] = {"counts": counts, "rows": rows, "chosen": chosen, "problem": problem}
    return _page(caller.router, "left_out.jinja", "Left out", **values)


def _builds(inspect: OpenInspection | None, _request: Request, caller: Caller) -> Response:
    nights, problem = _inspected(inspect, caller, lambda opened: opened.table("nights", _MOST_BUILDS).to_json()["rows"])
    return _page(caller.router, "builds.jinja", "Builds", nights=nights, problem=problem)


def _inspected(inspect: OpenInspection | None, caller: Caller, ask: Callable[[Any], Any]) -> tuple[Any, str]:
    """Return what the inspection database answers, None with the reason where it cannot be asked."""
    folder = caller.router.folder
    if folder is None or inspect is None or not caller.sees_all:
        return None, "this page is served without access to catalog.duckdb"
    try:
        with inspect(folder) as opened:
            return ask(opened), ""
    except QuartermasterError as error:  # the tool was registered at run time, or there is no database
        return None, str(error)


def _style_sheet(_request: Request, _caller: Caller) -> Response:
    return Response(_STYLE, media_type="text/css", headers={"Cache-Control": "no-cache"})


def _page(router: Router, template: str, title: str, status: int = 200, **values: Any) -> Response:
    common = {"title": title, "manifest": router.manifest, "tools": len(router)}
    return HTMLResponse(render(template, {**common, **values}), status)


def _answer(caller: Caller, form: dict[str, str], query: Mapping[str, str]) -> Response:
    """Return the page of a request: its answer, or why there is none, and what was just told of a tool."""
    router, request = caller.router, form["request"]
    values: dict[str, Any] = {"form": form, "filtered": is_filtered(form), "sent": changed(form)}
    values |= {"reports": router.feedback_log is not None, "told": query.get("told", "")}
    values["outcome"] = query.get("outcome", "")
    status = 200
    try:
        routed = router.route(request, **options_of(form))
    except QuartermasterError as error:
        status, values["problem"] = status_of(error), str(error)
    else:
        caller.actions.offer(routed.offered, [request, *routed.needs])
        signals = charted_signals(routed, router.manifest.signals)
        values |= {"routed": routed, "rank_rows": [rank_rows(tool, signals) for tool in routed]}
    return _page(router, "route.jinja", f"{request[:60]} · routed", status, **values)


class RankRow(NamedTuple):
    """What one list, the step that a tool serves, or the tools that need it gave to its score.

    `rank` is None where the list lacks the tool; a list's share is then imputed: of a tool without an expansion, or in
    another language.
    """

    name: str
    rank: int | None
    share: float | None


def charted_signals(routed: RoutedTools, available: Sequence[Signal]) -> tuple[Signal, ...]:
    """Return the lists to show: those that the snapshot has, but past requests only if they ranked a tool."""
    ranking = {signal for tool in routed for signal in tool.ranks}
    return tuple(s for s in Signal if s in ranking or (s in available and s in DOCUMENT_SIGNALS))


def rank_rows(tool: RoutedTool, signals: Sequence[Signal]) -> list[RankRow]:
    """Return a row for each list, one for the step that the tool serves, and one for the tools that need it."""
    parts = [(str(signal), tool.ranks.get(signal), tool.contributions.get(signal)) for signal in signals]
    parts += [("step", None, tool.gain - tool.raised)] if tool.step else []
    parts += [("needed", None, tool.raised)] if tool.raised else []
    return [RankRow(name, rank, _share(part, tool.score)) for name, rank, part in parts]


def _share(part: float | None, score: float) -> float | None:
    return None if part is None or score <= 0 else part / score


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


def _rows_left_out(opened: Any, check: str) -> tuple[list[Any], list[Any]]:
    """Return how many texts each check left out, most first, and those of one check, or of all."""
    counts = opened.rows("SELECT check_name, count(*) AS texts FROM left_out GROUP BY ALL ORDER BY texts DESC, 1")
    rows = opened.rows("FROM left_out WHERE ? IN ('', check_name) LIMIT ?", [check, _MOST_LEFT_OUT])
    return counts, rows


def _diagnosis_values(router: Router, tool_id: str, request: str) -> dict[str, Any]:
    """Return the values of the part of a tool's page that says why a request finds it, or does not."""
    values: dict[str, Any] = {"request": request, "diagnosis": None, "failed": ""}
    if not request:
        return values
    try:
        diagnosis = router.diagnose(request, tool_id)
    except QuartermasterError as error:
        return {**values, "failed": str(error)}
    parts, score = diagnosis.tool.contributions, diagnosis.tool.score
    places = [(place, _share(parts.get(place.signal), score)) for place in diagnosis.lists]
    said = {"verdict": verdict(diagnosis), "advice": advice(diagnosis)}
    return {**values, "diagnosis": diagnosis, "places": places, **said}
