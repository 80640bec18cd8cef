"""The ASGI app: the paths, and the layers around them."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from quartermaster.serving.http.access_log import AccessLog
from quartermaster.serving.http.audit import AuditLayer
from quartermaster.serving.http.catalog import catalog_paths
from quartermaster.serving.http.changes import change_paths
from quartermaster.serving.http.errors import handle_errors
from quartermaster.serving.http.feedback import feedback_paths
from quartermaster.serving.http.openapi import document_token
from quartermaster.serving.http.request_guard import RequestGuard, with_headers
from quartermaster.serving.http.routing import route_paths
from quartermaster.serving.http.service import Service, operation_paths
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.page import CatalogCost, InspectTool, pages
from router.distribution import version
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
    api = FastAPI(
        title="Quartermaster",
        summary="The few tools that fit a request, out of thousands.",
        version=version(),
        lifespan=_lifespan(service, closes),
        # These pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    handle_errors(api)
    for paths in (route_paths(service), catalog_paths(service), operation_paths(service)):
        api.include_router(paths)
    if router.feedback_log is not None:
        api.include_router(feedback_paths(service, router.feedback_log))
    if settings.overlay is not None:
        api.include_router(change_paths(service, settings.overlay))
    document_token(api, settings)
    api.include_router(pages(service.caller_of, service.run_in_thread, inspect, cost))
    guarded = RequestGuard(AuditLayer(api), settings, service.callers)
    return AccessLog(with_headers(guarded, _SECURITY_HEADERS), service.metrics)


def _lifespan(service: Service, closes: bool) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
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
