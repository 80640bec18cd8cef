"""POST /v1/route and /v1/route-many. Docstrings of paths are published in the OpenAPI document."""

from dataclasses import asdict
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from quartermaster.serving.http import responses
from quartermaster.serving.http.catalog import record_json
from quartermaster.serving.http.openapi import BODY_FAILURES, success
from quartermaster.serving.http.requests import RouteManyRequest, RouteRequest
from quartermaster.serving.http.service import Service
from quartermaster.serving.profiles import Caller
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.errors import SettingsInvalid
from router.provider_formats import Rendered
from router.router import Router


def route_paths(service: Service) -> APIRouter:
    """Return the paths that route requests."""
    routes = APIRouter(prefix="/v1", tags=["routing"])
    max_wildcards = service.settings.max_wildcards

    def options_of(body: RouteRequest | RouteManyRequest, caller: Caller) -> RouteOptions:
        """Return the options of a request. Raises SettingsInvalid for a selection that is invalid or costs too much."""
        options: RouteOptions = {**body.arguments(), "caller": caller.token}
        selection = options.get("selection")
        if selection is not None and selection.wildcards > max_wildcards:
            limit = f"a request may have {max_wildcards:,} at most (--max-wildcards)"
            raise SettingsInvalid(f"selection: allow and block have {selection.wildcards:,} wildcards (* ? [), {limit}")
        return options

    @routes.post("/route", responses={**success(responses.AnswerJson), **BODY_FAILURES})
    async def route(body: RouteRequest, request: Request) -> Response:
        """The tools that fit a request, or the latest of several messages, best first."""
        caller = service.caller_of(request)

        def answer() -> tuple[RoutedTools, bytes]:
            routed = caller.router.route(body.messages(), **options_of(body, caller))
            return routed, msgspec.json.encode(_answer_json(routed, body, caller.router))

        routed, content = await service.run_in_thread(answer)
        service.metrics.answer(routed)
        caller.actions.offer(routed.offered, body.texts())
        return Response(content, media_type="application/json")

    @routes.post("/route-many", responses={**success(responses.Answers), **BODY_FAILURES})
    async def route_many(body: RouteManyRequest, request: Request) -> Response:
        """The answers to several requests, all of one snapshot: encoded together, then as `/v1/route`."""
        caller = service.caller_of(request)

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

    return routes


def _answer_json(routed: RoutedTools, body: RouteRequest | RouteManyRequest, router: Router) -> dict[str, Any]:
    """Return an answer whose records are as a model may read them."""
    answer = routed.to_json()
    for key, tools in (("tools", routed.tools), ("always", routed.always)):
        for row, tool in zip(answer[key], tools, strict=True):
            row["record"] = record_json(router, tool.record)
    rendered = None if body.form is None else _rendered_json(routed.render(strict=body.strict))
    return {**answer, "rendered": rendered}


def _rendered_json(rendered: Rendered) -> dict[str, Any]:
    return {
        "tools": list(rendered.tools),
        "names": dict(rendered.names),
        "parameters": {name: dict(renamed) for name, renamed in rendered.parameters.items()},
        "dropped": [asdict(note) for note in rendered.dropped],
        "notes": [asdict(note) for note in rendered.notes],
        "withheld": {tool_id: [part.to_json() for part in parts] for tool_id, parts in rendered.withheld.items()},
    }
