"""The values that all paths share, and the paths that report on the process: /healthz, /readyz, /metrics."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from quartermaster.serving.http import responses
from quartermaster.serving.http.errors import failure, json_response
from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.http.openapi import GUARD_FAILURES, Responses, failures, success
from quartermaster.serving.http.serving_state import ServingState, staleness, state_of
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.shared import Shared
from quartermaster.serving.profiles import CALLER, Caller, Callers
from router.answer.executor import THREADS
from router.router import Router

_T = TypeVar("_T")


@dataclass(slots=True)
class Service:
    """The router, settings and metrics of one app. `problem` says why it is not ready, empty once it is.

    `callers` are those of the profiles file; None where everybody may use the whole router.
    """

    router: Router
    settings: HttpSettings
    metrics: Metrics
    callers: Callers | None = None
    shared: Shared = field(default_factory=Shared)
    problem: str = "starting"
    # As many as the router's own: more would only share the cores.
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))

    @classmethod
    def open(cls, router: Router, settings: HttpSettings, shared: Shared | None = None) -> "Service":
        """Return the service of a router, which is not ready yet. Raises SettingsInvalid for wrong profiles."""
        shared = shared or Shared()
        callers = None if settings.profiles is None else Callers(settings.profiles, router, limit=shared.token_limit)
        return cls(router, settings, Metrics(router, shared.exposition), callers, shared)

    @property
    def ready(self) -> bool:
        """Return whether the app answers requests."""
        return not self.problem

    def state(self) -> ServingState:
        """Return the state of this process."""
        return state_of(self.router, self.problem)

    def staleness(self) -> str | None:
        """Return why what serves is stale, empty where it is not; None where nothing looks for a new snapshot."""
        return staleness(self.router.freshness, self.settings)

    def caller_of(self, request: Request) -> Caller:
        """Return who sent a request, as the request guard found it. Raises KeyError where a profile is missing."""
        if self.callers is None:
            return Caller(self.router)
        caller: Caller = request.scope[CALLER]
        return caller

    async def run_in_thread(self, call: Callable[[], _T]) -> _T:
        """Return what a blocking call returns; it runs in a thread, so that the event loop stays free."""
        return await anyio.to_thread.run_sync(call, limiter=self._threads)


def operation_paths(service: Service) -> APIRouter:
    """Return the paths that report on the process. Their docstrings are published in the OpenAPI document."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/healthz", responses={**success(responses.Health), **failures(421, 500)})
    async def healthz() -> Response:
        """Whether the process answers at all; open, as `/readyz` is."""
        return json_response({"status": "ok", "snapshot": None})

    @routes.get("/readyz", responses={**success(responses.Health), **failures(421, 500, 503)})
    async def readyz() -> Response:
        """Whether a snapshot serves, and whether it is known to be the newest; 503 with the reason while none does."""
        if not service.ready:
            return failure(503, service.problem)
        stale = service.staleness()
        if stale and service.settings.unready_when_stale:
            return failure(503, stale)
        return json_response(
            {
                "status": "ok",
                "snapshot": service.router.manifest.snapshot,
                "stale": None if stale is None else bool(stale),
            }
        )

    content = {"text/plain": {"schema": {"type": "string"}}}
    text: Responses = {200: {"content": content, "description": "Prometheus' text format."}}

    @routes.get("/metrics", response_class=Response, responses={**text, **GUARD_FAILURES, **failures(404)})
    async def metrics(request: Request) -> Response:
        """Requests, stages, answers, the cache and the snapshot, for Prometheus."""
        if not service.caller_of(request).sees_all:  # they count what every caller does
            return failure(404, "Not Found")
        return Response(service.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    return routes
