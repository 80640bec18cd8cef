"""The ASGI app: the paths, and the layers around them."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from quartermaster.serving.http.access_log import logged
from quartermaster.serving.http.errors import crashed, failure, http_failed, json_response, router_failed
from quartermaster.serving.http.messages import body_of
from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.http.openapi import document
from quartermaster.serving.http.operations import operations_of
from quartermaster.serving.http.request_guard import RequestGuard
from quartermaster.serving.http.service import Call, Operation, Service
from quartermaster.serving.http.settings import PROBES, HttpSettings
from quartermaster.serving.page import OpenInspection, ShowPage, TakeForm, check_origin, form_fields, forms, pages
from quartermaster.serving.profiles import Caller, Callers
from quartermaster.serving.suggestions import Suggestions
from router.errors import NothingSelected, QuartermasterError
from router.router import Router
from router.typed import converted

logger = logging.getLogger("router.http")
_WARM_UP_REQUEST = "which tools are there"
_Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a process serves: an opened router, and what its pages show. The attributes are arguments of `app`."""

    router: Router
    inspect: OpenInspection | None = None


def app(
    router: Router, settings: HttpSettings | None = None, *, inspect: OpenInspection | None = None, closes: bool = False
) -> ASGIApp:
    """Return the app over an opened router, which the caller closes, or with `closes` the end of the app.

    `inspect` opens the inspection database of a snapshot's folder.
    """
    settings = settings or HttpSettings()
    callers = None if settings.profiles is None else Callers(settings.profiles, router)
    service = Service(router, settings, Metrics(router), callers)
    operations = operations_of(service)
    described = json_response(document(operations, token=settings.asks_for_token))

    async def openapi(_: Request) -> Response:
        return described

    handlers: dict[str, dict[str, _Handler]] = {"/openapi.json": {"GET": openapi}}
    for operation in operations:
        handlers.setdefault(operation.path, {})[operation.method] = _answering(operation, service)
    suggestions = None if settings.suggestions is None else Suggestions(settings.suggestions)
    for path, show in pages(inspect, suggestions).items():
        handlers[path] = {"GET": _showing(show, service)}
    for path, take in forms(router.feedback_log is not None, suggestions).items():
        handlers[path] = {"POST": _taking(take, service)}
    api = Starlette(
        routes=[Route(path, _by_method(methods), methods=list(methods)) for path, methods in handlers.items()],
        exception_handlers={QuartermasterError: router_failed, HTTPException: http_failed, Exception: crashed},
        lifespan=_lifespan(service, closes),
    )
    api.router.redirect_slashes = False
    return logged(RequestGuard(api, settings, callers), service.metrics)


def _by_method(handlers: Mapping[str, _Handler]) -> _Handler:
    async def answer(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return answer


def _answering(operation: Operation, service: Service) -> _Handler:
    """Return what reads a request to an operation, and answers it; in a thread, but for reports on the process."""
    limiter = service.changing if operation.tag == "changes" else service.threads

    async def answer(request: Request) -> Response:
        caller = Caller(service.router) if operation.path in PROBES else service.caller_of(request)
        if operation.tag == "changes" and not caller.changes:
            return failure(403, "this token may not change tools: `changes = true` in the file of profiles permits it")
        body: Any = None
        if operation.body:
            body = await body_of(request, operation.body)
        elif operation.takes:
            body = converted(dict(request.query_params), operation.takes, strict=False)
        call = Call(service, caller, body, next(iter(request.path_params.values()), ""))

        def respond() -> Response:
            answered = operation.handle(call)
            return answered if isinstance(answered, Response) else json_response(answered)

        return respond() if operation.tag == "operation" else await run_sync(respond, limiter=limiter)

    return answer


def _showing(show: ShowPage, service: Service) -> _Handler:
    async def answer(request: Request) -> Response:
        return await run_sync(show, request, service.caller_of(request), limiter=service.threads)

    return answer


def _taking(take: TakeForm, service: Service) -> _Handler:
    """Return what takes in a form that a page of this server sent, and no other site's."""

    async def answer(request: Request) -> Response:
        check_origin(request)
        fields = form_fields(await request.body(), request.headers.get("content-type", ""))
        return await run_sync(take, service.caller_of(request), fields, limiter=service.threads)

    return answer


def _lifespan(service: Service, closes: bool) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # The encoder's first run is the slowest, so it happens before anybody asks.
        def warm_up() -> None:
            with suppress(NothingSelected):  # the router answers, though with no tool
                service.router.route(_WARM_UP_REQUEST, k=1, needs=(), feedback=False)

        try:
            await run_sync(warm_up, limiter=service.threads)
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
