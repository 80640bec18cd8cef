"""What all requests to one app share, and what one request brings."""

import time
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from anyio import CapacityLimiter
from starlette.requests import Request

from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.profiles import CALLER, Caller, Callers
from router.answer.executor import THREADS
from router.router import Router

_Body = TypeVar("_Body", covariant=True)


@dataclass(slots=True)
class Service:
    """The router, settings and metrics of one app.

    `callers` are those of the profiles file; None where everybody may use the whole router. `problem` says why the app
    is not ready, empty once it is.
    """

    router: Router
    settings: HttpSettings
    metrics: Metrics
    callers: Callers | None = None
    problem: str = "starting"
    # As many as the router's own: more would only share the cores.
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))
    # One change at a time, so that the file holds the last one; a waiting change takes no thread of a request.
    changing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    def staleness(self) -> str | None:
        """Return why what serves is stale, empty where it is not; None where nothing looks for a new snapshot."""
        freshness = self.router.freshness
        if freshness.watch_s is None:
            return None
        since = "since the start"
        if freshness.current_at is not None:
            seconds = time.monotonic() - freshness.current_at
            if seconds <= self.settings.stale_after(freshness.watch_s):
                return ""
            since = f"for {seconds:.0f} s"
        return f"what serves is not known to be the newest snapshot {since}: the server's log has the reason"

    def caller_of(self, request: Request) -> Caller:
        """Return who sent a request, as the request guard found it. Raises KeyError where a profile is missing."""
        if self.callers is None:
            return Caller(self.router)
        caller: Caller = request.scope[CALLER]
        return caller


@dataclass(frozen=True, slots=True)
class Call(Generic[_Body]):
    """One request to an operation: who sends it, what it takes, and the parameter in its path, empty for none."""

    service: Service
    caller: Caller
    body: _Body
    parameter: str

    @property
    def router(self) -> Router:
        """Return the router as the caller may use it."""
        return self.caller.router
