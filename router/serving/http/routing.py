"""POST /v1/route and /v1/route-many."""

from dataclasses import asdict
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from router.answer.results import RoutedTools
from router.provider_formats import Rendered
from router.serving.http import answers
from router.serving.http.documented import OF_A_BODY, json_of
from router.serving.http.models import RouteManyRequest, RouteRequest
from router.serving.http.service import Service


def routing(service: Service) -> APIRouter:
    """The paths that route requests."""
    routes = APIRouter(prefix="/v1", tags=["routing"])

    @routes.post("/route", responses={**json_of(answers.Answer), **OF_A_BODY})
    async def route(body: RouteRequest) -> Response:
        """The tools that fit a request, or the latest of several messages, best first."""

        def answer() -> tuple[RoutedTools, bytes]:
            routed = service.router.route(body.said(), **body.arguments())
            return routed, msgspec.json.encode(_json(routed, body.form is not None, body.strict))

        routed, content = await service.aside(answer)
        service.metrics.answer(routed)
        return Response(content, media_type="application/json")

    @routes.post("/route-many", responses={**json_of(answers.Answers), **OF_A_BODY})
    async def route_many(body: RouteManyRequest) -> Response:
        """The answers to several requests, all of one snapshot: encoded together, then as `/v1/route`."""

        def answer() -> tuple[list[RoutedTools], bytes]:
            found = service.router.route_many(body.requests, **body.arguments())
            rows = [_json(routed, body.form is not None, body.strict) for routed in found]
            return found, msgspec.json.encode({"answers": rows})

        found, content = await service.aside(answer)
        for routed in found:
            service.metrics.answer(routed)
        return Response(content, media_type="application/json")

    return routes


def _json(routed: RoutedTools, rendered: bool, strict: bool) -> dict[str, Any]:
    return {**routed.to_json(), "rendered": _rendered(routed.render(strict=strict)) if rendered else None}


def _rendered(rendered: Rendered) -> dict[str, Any]:
    return {
        "tools": list(rendered.tools),
        "names": dict(rendered.names),
        "parameters": {name: dict(renamed) for name, renamed in rendered.parameters.items()},
        "dropped": [asdict(note) for note in rendered.dropped],
        "notes": [asdict(note) for note in rendered.notes],
    }
