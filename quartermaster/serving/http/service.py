"""The values that all paths share, and the paths that report on the process: /healthz, /readyz, /metrics."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from quartermaster.serving.http.answers import Health
from quartermaster.serving.http.errors import failure, json_response
from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.http.openapi import GUARD_FAILURES, Operation
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.profiles import CALLER, Caller, Callers
from router.answer.executor import THREADS
from router.router import Router

_T = TypeVar("_T")
_STALE_AFTER_S = 300.0
_LOOKS = 3  # a snapshot is not stale because one look or two have failed


@dataclass(slots=True)
class Service:
    """The router, settings and metrics of one app. `problem` says why it is not ready, empty once it is.

    `callers` are those of the profiles file; None where everybody may use the whole router.
    """

    router: Router
    settings: HttpSettings
    metrics: Metrics
    callers: Callers | None = None
    problem: str = "starting"
    # As many as the router's own: more would only share the cores.
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))

    @classmethod
    def open(cls, router: Router, settings: HttpSettings) -> "Service":
        """Return the service of a router, which is not ready yet. Raises SettingsInvalid for wrong profiles."""
        callers = None if settings.profiles is None else Callers(settings.profiles, router)
        return cls(router, settings, Metrics(router), callers)

    def staleness(self) -> str | None:
        """Return why what serves is stale, empty where it is not; None where nothing looks for a new snapshot."""
        freshness = self.router.freshness
        if freshness.watch_s is None:
            return None
        if freshness.current_at is None:
            since = "since the start"
        else:
            seconds = time.monotonic() - freshness.current_at
            if seconds <= stale_after(freshness.watch_s, self.settings):
                return ""
            since = f"for {seconds:.0f} s"
        return f"what serves is not known to be the newest snapshot {since}: the server's log has the reason"

    def caller_of(self, request: Request) -> Caller:
        """Return who sent a request, as the request guard found it. Raises KeyError where a profile is missing."""
        if self.callers is None:
            return Caller(self.router)
        caller: Caller = request.scope[CALLER]
        return caller

    async def run_in_thread(self, call: Callable[[], _T]) -> _T:
        """Return what a blocking call returns; it runs in a thread, so that the event loop stays free."""
        return await anyio.to_thread.run_sync(call, limiter=self._threads)


def stale_after(watch_s: float, settings: HttpSettings) -> float:
    """Return after how many seconds without a look that found the newest snapshot serving, it counts as stale."""
    if settings.stale_after_s is not None:
        return settings.stale_after_s
    return max(_STALE_AFTER_S, _LOOKS * watch_s)


def process_operations(service: Service) -> list[Operation]:
    """Return the operations that report on the process. Their docstrings are published in the OpenAPI document."""

    async def healthz(_: Request) -> Response:
        """Whether the process answers at all; open, as `/readyz` is."""
        return json_response({"status": "ok", "snapshot": None})

    async def readyz(_: Request) -> Response:
        """Whether a snapshot serves, and whether it is known to be the newest; 503 with the reason while none does."""
        if service.problem:
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

    async def metrics(request: Request) -> Response:
        """Requests, stages, answers, the cache and the snapshot, for Prometheus."""
        if not service.caller_of(request).sees_all:  # they count what every caller does
            return failure(404, "Not Found")
        return Response(service.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    def get(path: str, **parts: Any) -> Operation:
        return Operation(method="GET", path=path, tag="operation", **parts)

    return [
        get("/healthz", handle=healthz, answer=Health, failures=(421, 500)),
        get("/readyz", handle=readyz, answer=Health, failures=(421, 500, 503)),
        get("/metrics", handle=metrics, answer="Prometheus' text format.", failures=(*GUARD_FAILURES, 404)),
    ]
