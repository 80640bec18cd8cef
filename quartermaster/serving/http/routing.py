"""POST /v1/route, /v1/route-many, /v1/feedback. Docstrings of handlers are published in the OpenAPI document."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from quartermaster.serving.http.answers import Answers
from quartermaster.serving.http.catalog import record_json
from quartermaster.serving.http.errors import failure
from quartermaster.serving.http.openapi import BODY_FAILURES, Operation
from quartermaster.serving.http.requests import Feedback, RouteManyRequest, RouteRequest, body_of
from quartermaster.serving.http.service import Service
from quartermaster.serving.profiles import Caller
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.errors import SettingsInvalid
from router.router import Router

_RENDERED = ("tools", "names", "parameters", "dropped", "notes", "withheld")


def route_operations(service: Service) -> list[Operation]:
    """Return the operations that route requests, and the one that takes what became of an answer's tools."""
    max_wildcards = service.settings.max_wildcards

    def options_of(body: RouteRequest | RouteManyRequest, caller: Caller) -> RouteOptions:
        """Return the options of a request. Raises SettingsInvalid for a selection that costs too much."""
        options: RouteOptions = {**body.arguments(), "caller": caller.token}
        if body.selection is not None and body.selection.wildcards > max_wildcards:
            limit = f"a request may have {max_wildcards:,} at most (--max-wildcards)"
            wildcards = f"{body.selection.wildcards:,} wildcards (* ? [)"
            raise SettingsInvalid(f"selection: allow and block have {wildcards}, {limit}")
        return options

    async def route(request: Request) -> Response:
        """The tools that fit a request, or the latest of several messages, best first."""
        caller, body = service.caller_of(request), await body_of(request, RouteRequest)

        def answer() -> tuple[RoutedTools, bytes]:
            routed = caller.router.route(body.messages(), **options_of(body, caller))
            return routed, msgspec.json.encode(_answer_json(routed, body, caller.router))

        routed, content = await service.run_in_thread(answer)
        service.metrics.answer(routed)
        caller.actions.offer(routed.offered, body.texts())
        return Response(content, media_type="application/json")

    async def route_many(request: Request) -> Response:
        """The answers to several requests, all of one snapshot: encoded together, then as `/v1/route`."""
        caller, body = service.caller_of(request), await body_of(request, RouteManyRequest)

        def answer() -> tuple[list[RoutedTools], bytes]:
            all_routed = caller.router.route_many(body.requests, **options_of(body, caller))
            answers = [_answer_json(routed, body, caller.router) for routed in all_routed]
            return all_routed, msgspec.json.encode({"answers": answers})

        all_routed, content = await service.run_in_thread(answer)
        for routed in all_routed:
            service.metrics.answer(routed)
            caller.actions.offer(routed.offered)
        caller.actions.texts += body.requests
        return Response(content, media_type="application/json")

    log = service.router.feedback_log

    async def feedback(request: Request) -> Response:
        """Say what became of a tool of an answer: the next build learns from it. The last report on a tool counts."""
        assert log is not None
        caller, body = service.caller_of(request), await body_of(request, Feedback)
        if caller.router.record(body.tool_id) is None:
            snapshot = caller.router.manifest.snapshot
            return failure(404, f"the snapshot {snapshot} has no tool {body.tool_id!r}", "tool_id")
        log.report(body.request_id, body.tool_id, body.outcome, caller=caller.token)
        return Response(status_code=204)

    def post(name: str, **parts: Any) -> Operation:
        return Operation(method="POST", path=f"/v1/{name}", tag="routing", failures=BODY_FAILURES, **parts)

    operations = [
        post("route", handle=route, body=RouteRequest, answer=RoutedTools),
        post("route-many", handle=route_many, body=RouteManyRequest, answer=Answers),
    ]
    if log is not None:
        operations.append(post("feedback", handle=feedback, body=Feedback, answer="Recorded.", status=204))
    return operations


def _answer_json(routed: RoutedTools, body: RouteRequest | RouteManyRequest, router: Router) -> dict[str, Any]:
    """Return an answer whose records are as a model may read them."""
    answer = routed.to_json(lambda record: record_json(router, record))
    if body.form is None:
        return {**answer, "rendered": None}
    rendered = routed.render(strict=body.strict)
    return {**answer, "rendered": {name: getattr(rendered, name) for name in _RENDERED}}
