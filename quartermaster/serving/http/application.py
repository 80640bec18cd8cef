"""The ASGI app: the paths, and the layers around them."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from quartermaster.serving.http.access_log import AccessLog, AuditLayer
from quartermaster.serving.http.catalog import catalog_operations
from quartermaster.serving.http.changes import change_operations
from quartermaster.serving.http.errors import crashed, http_failed, json_response, router_failed
from quartermaster.serving.http.openapi import Handler, document
from quartermaster.serving.http.request_guard import RequestGuard
from quartermaster.serving.http.routing import route_operations
from quartermaster.serving.http.service import Service, process_operations
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.page import CatalogCost, InspectTool, pages
from router.errors import NothingSelected, QuartermasterError
from router.router import Router

logger = logging.getLogger("router.http")

# A browser keeps no answer, runs nothing in it, shows it to no other page and reveals it to no other site. Pages use
# their own style sheet and forms that lead here; there is no script at all.
_SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_WARM_UP_REQUEST = "which tools are there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a process serves: an opened router, and what its pages show. The attributes are arguments of `app`."""

    router: Router
    inspect: InspectTool | None = None
    cost: CatalogCost | None = None


def app(
    router: Router,
    settings: HttpSettings | None = None,
    *,
    inspect: InspectTool | None = None,
    cost: CatalogCost | None = None,
    closes: bool = False,
) -> ASGIApp:
    """Return the app over an opened router, which the caller closes, or with `closes` the end of the app.

    `inspect` returns what the inspection database knows of a tool, from a snapshot's folder and the tool's id;
    `cost` returns what the snapshot's expansions have cost in US dollars, None where a price is unknown.
    """
    settings = settings or HttpSettings()
    service = Service.open(router, settings)
    operations = [*route_operations(service), *catalog_operations(service), *process_operations(service)]
    if settings.overlay is not None:
        operations += change_operations(service, settings.overlay)
    described = json_response(document(operations, token=settings.asks_for_token))

    async def openapi(_: Request) -> Response:
        return described

    handlers: dict[str, dict[str, Handler]] = {"/openapi.json": {"GET": openapi}}
    for operation in operations:
        handlers.setdefault(operation.path, {})[operation.method] = operation.handle
    for path, handle in pages(service.caller_of, service.run_in_thread, inspect, cost).items():
        handlers[path] = {"GET": handle}
    api = Starlette(
        routes=[_route(path, methods) for path, methods in handlers.items()],
        exception_handlers={QuartermasterError: router_failed, HTTPException: http_failed, Exception: crashed},
        lifespan=_lifespan(service, closes),
    )
    api.router.redirect_slashes = False
    audited = api if service.callers is None else AuditLayer(api)
    guarded = RequestGuard(audited, settings, service.callers)
    return AccessLog(guarded, service.metrics, _SECURITY_HEADERS)


def _route(path: str, handlers: Mapping[str, Handler]) -> Route:
    """Return the route of a path, which says in the scope what logs and metrics call it."""

    async def answer(request: Request) -> Response:
        request.scope["route"] = path
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, answer, methods=list(handlers))


def _lifespan(service: Service, closes: bool) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # The encoder's first run is the slowest, so it happens before anybody asks.
        try:
            with suppress(NothingSelected):  # the router answers, though with no tool
                await service.run_in_thread(lambda: service.router.route(_WARM_UP_REQUEST, k=1, feedback=False))
        except QuartermasterError as error:
            service.problem = f"the snapshot does not answer: {error}"
            logger.error("%s", service.problem)
        else:
            service.problem = ""
        service.metrics.workers.set(1)
        yield
        if closes:
            await service.router.aclose()

    return lifespan
