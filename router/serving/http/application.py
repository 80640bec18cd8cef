"""The ASGI app: paths, the layers before them, and the document that describes them."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from router.distribution import version
from router.errors import NothingSelected, QuartermasterError
from router.router import Router
from router.serving.http.access_log import AccessLog
from router.serving.http.catalog import catalog
from router.serving.http.changes import changes
from router.serving.http.documented import describe
from router.serving.http.errors import handle_errors
from router.serving.http.metrics import Metrics
from router.serving.http.probes import probes
from router.serving.http.request_guard import RequestGuard, with_headers
from router.serving.http.routing import routing
from router.serving.http.service import Service
from router.serving.http.settings import HttpSettings
from router.serving.page import Inspect, pages

_logger = logging.getLogger("router.http")

# Nothing of an answer is kept by a browser, read by another page, run, or told to another site. Pages have styles of
# their own and forms that lead here; there is no script at all.
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FIRST = "which tools are there"


def app(
    router: Router,
    settings: HttpSettings | None = None,
    *,
    folder: Path | None = None,
    inspect: Inspect | None = None,
) -> ASGIApp:
    """The app over an opened router, whose end is the caller's.

    `folder` is that of the catalog or the snapshot that the router was opened with: the page compares its snapshots.
    `inspect` gives the page all that is known of a tool, given a snapshot's folder and the tool's id.
    """
    settings = settings or HttpSettings()
    service = Service(router, settings, Metrics(router))
    api = FastAPI(
        title="Quartermaster",
        summary="The few tools that fit a request, out of thousands.",
        version=version(),
        lifespan=_living(service),
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    handle_errors(api)
    for routes in (routing(service), catalog(service), probes(service)):
        api.include_router(routes)
    if settings.overlay is not None:
        api.include_router(changes(service, settings.overlay))
    api.include_router(pages(service.router, service.aside, folder, inspect))
    describe(api, settings)
    return AccessLog(with_headers(RequestGuard(api, settings), _HEADERS), service.metrics)


def _living(service: Service) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        # The first run of the encoder is the slowest: it is nobody's request.
        try:
            with suppress(NothingSelected):  # an answer too
                await service.aside(lambda: service.router.route(_FIRST, k=1))
        except QuartermasterError as error:
            service.problem = f"the snapshot does not answer: {error}"
            _logger.error("%s", service.problem)
        else:
            service.problem = ""
        yield

    return living
