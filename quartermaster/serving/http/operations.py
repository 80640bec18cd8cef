"""The operations of the API. Their docstrings are published in the OpenAPI document.

Each returns what is answered as JSON, or a response.
"""

from bisect import bisect_right
from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from quartermaster.serving.http.errors import failure
from quartermaster.serving.http.messages import (
    Answers,
    Changed,
    Feedback,
    Health,
    Name,
    Page,
    RouteManyRequest,
    RouteRequest,
    Snapshot,
    ToolPage,
    Tools,
)
from quartermaster.serving.http.service import Call, Operation, Service
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.errors import SettingsInvalid
from router.record import ToolRecord
from router.typed import converted

_RENDERED = ("tools", "names", "parameters", "dropped", "notes", "withheld")


@partial(Operation, method="POST", path="/v1/route", tag="routing", takes=RouteRequest, answer=RoutedTools)
def route(call: Call[RouteRequest]) -> object:
    """The tools that fit a request, or the latest of several messages, best first."""
    routed = call.router.route(call.body.messages(), **_options(call))
    call.service.metrics.answer(routed)
    call.caller.actions.offer(routed.offered, [*call.body.texts(), *(call.body.needs or ())])
    return _answer_json(call, routed)


@partial(Operation, method="POST", path="/v1/route-many", tag="routing", takes=RouteManyRequest, answer=Answers)
def route_many(call: Call[RouteManyRequest]) -> object:
    """The answers to several requests, all of one snapshot: encoded together, then as `/v1/route`."""
    all_routed = call.router.route_many(call.body.requests, **_options(call))
    for routed in all_routed:
        call.service.metrics.answer(routed)
        call.caller.actions.offer(routed.offered)
    call.caller.actions.texts += [*call.body.requests, *chain.from_iterable(call.body.needs or ())]
    return {"answers": [_answer_json(call, routed) for routed in all_routed]}


@partial(Operation, method="POST", path="/v1/feedback", tag="routing", takes=Feedback, answer="Recorded.", status=204)
def feedback(call: Call[Feedback]) -> object:
    """Say what became of a tool of an answer: the next build learns from it. The last report on a tool counts."""
    report, log = call.body, call.service.router.feedback_log
    assert log is not None
    if call.router.record(report.tool_id) is None:
        return _no_such_tool(call, report.tool_id)
    log.report(report.request_id, report.tool_id, report.outcome, caller=call.caller.token)
    return Response(status_code=204)


@partial(Operation, method="GET", path="/v1/tools", tag="catalog", takes=Page, answer=ToolPage)
def tools(call: Call[Page]) -> object:
    """The tools by id, page by page."""
    served, after = call.router.tools, call.body.after
    begin = bisect_right(served, after, key=lambda record: record.tool_id) if after else 0
    end = min(begin + call.body.limit, len(served))
    records = [served[place] for place in range(begin, end)]
    call.caller.actions.offer(record.tool_id for record in records)
    rows = [call.router.handed(record).to_json() for record in records]
    return {"tools": rows, "next": records[-1].tool_id if begin < end < len(served) else None, "total": len(served)}


@partial(Operation, method="GET", path="/v1/tools/{tool_id:path}", tag="catalog", answer=ToolRecord)
def tool(call: Call[None]) -> object:
    """One tool's record."""
    record = call.router.record(call.parameter)
    if record is None:
        return _no_such_tool(call, call.parameter)
    call.caller.actions.described.append(record.tool_id)
    row = call.router.handed(record).to_json()
    if instructions := call.router.instructions(record.tool_id):
        row["instructions"] = instructions
    return row


@partial(Operation, method="GET", path="/v1/snapshot", tag="catalog", answer=Snapshot)
def snapshot(call: Call[None]) -> object:
    """The snapshot that serves."""
    manifest = call.router.manifest
    return Snapshot(
        snapshot=manifest.snapshot,
        catalog=manifest.catalog,
        created_at=manifest.created_at,
        tools=len(call.router),
        signals=list(manifest.signals),
        languages=list(manifest.languages),
        encoder=manifest.encoder.model if manifest.encoder else None,
        recipe=str(manifest.recipe.get("name", "custom")),
        token_counter=manifest.token_counter,
        counts=dict(manifest.counts),
        generators=dict(manifest.generators),
    )


@partial(
    Operation, method="PUT", path="/v1/sources/{source:path}", tag="changes", takes=Tools, answer=Changed, fails=(403,)
)
def replace(call: Call[Tools]) -> object:
    """The tools of a source, such as an MCP server, are now exactly these."""
    source = converted(call.parameter, Name, whole="source")
    registered = [record.tool_id for record in call.service.router.replace(source, call.body.tools, strict=True)]
    return _changed(call, registered, registered)


@partial(Operation, method="DELETE", path="/v1/tools/{tool_id:path}", tag="changes", answer=Changed)
def remove(call: Call[None]) -> object:
    """A tool is served no more, until it is registered again."""
    router, tool_id = call.service.router, call.parameter
    if router.record(tool_id) is None:
        return _no_such_tool(call, tool_id)
    router.remove([tool_id])
    return _changed(call, [tool_id], [])


@partial(Operation, method="GET", path="/healthz", tag="operation", answer=Health)
def healthz(_: Call[None]) -> object:
    """Whether the process answers at all; open, as `/readyz` is."""
    return Health("ok", None)


@partial(Operation, method="GET", path="/readyz", tag="operation", answer=Health, fails=(503,))
def readyz(call: Call[None]) -> object:
    """Whether a snapshot serves, and whether it is known to be the newest; 503 with the reason while none does."""
    service = call.service
    stale = service.staleness()
    if problem := service.problem or (stale if service.settings.unready_when_stale else ""):
        return failure(503, problem)
    return Health("ok", service.router.manifest.snapshot, None if stale is None else bool(stale))


@partial(Operation, method="GET", path="/metrics", tag="operation", answer="Prometheus' text format.", fails=(404,))
def metrics(call: Call[None]) -> object:
    """Requests, stages, answers, the cache and the snapshot, for Prometheus."""
    if not call.caller.sees_all:  # they count what every caller does
        return failure(404, "Not Found")
    return Response(call.service.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)


def operations_of(service: Service) -> list[Operation]:
    """Return the operations of an app: feedback needs a log, and changes need a file that keeps them."""
    reports = [] if service.router.feedback_log is None else [feedback]
    changes = [] if service.settings.overlay is None else [replace, remove]
    return [route, route_many, *reports, tools, tool, snapshot, healthz, readyz, metrics, *changes]


def _options(call: Call[RouteRequest | RouteManyRequest]) -> RouteOptions:
    """Return the options of a request. Raises SettingsInvalid for a selection that costs too much."""
    selection, most = call.body.selection, call.service.settings.max_wildcards
    if selection is not None and selection.wildcards > most:
        limit = f"a request may have {most:,} at most (--max-wildcards)"
        raise SettingsInvalid(f"selection: allow and block have {selection.wildcards:,} wildcards (* ? [), {limit}")
    return {**call.body.arguments(), "caller": call.caller.token}


def _answer_json(call: Call[RouteRequest | RouteManyRequest], routed: RoutedTools) -> dict[str, Any]:
    """Return an answer whose records are as a model may read them."""
    answer = routed.to_json(lambda record: call.router.handed(record).to_json())
    if call.body.form is None:
        return {**answer, "rendered": None}
    rendered = routed.render(strict=call.body.strict)
    return {**answer, "rendered": {name: getattr(rendered, name) for name in _RENDERED}}


def _changed(call: Call[Any], changed: Iterable[str], registered: list[str]) -> Changed:
    """Save the tools for the next start, and return the answer to a change."""
    router, file = call.service.router, call.service.settings.overlay
    assert file is not None
    call.caller.actions.changed += changed
    router.save_overlay(file)
    return Changed(registered, len(router))


def _no_such_tool(call: Call[Any], tool_id: str) -> Response:
    return failure(404, f"the snapshot {call.router.manifest.snapshot} has no tool {tool_id!r}", "tool_id")
