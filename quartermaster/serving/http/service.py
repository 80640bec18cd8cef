"""What all requests to one app share, what one request brings, and what an operation is."""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from anyio import CapacityLimiter
from starlette.requests import Request

from quartermaster.serving.http.metrics import Metrics
from quartermaster.serving.http.settings import PROBES, HttpSettings
from quartermaster.serving.profiles import CALLER, Caller, Callers
from router.answer.executor import ASKING, THREADS
from router.router import Router

_Body = TypeVar("_Body", covariant=True)
_FAILURES_OF_PROBES = (421, 500)
_FAILURES_OF_GUARD = (400, 401, 408, 413, 421, 429, 500, 503)


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
    threads: CapacityLimiter = field(init=False)
    # One change at a time, so that the file holds the last one; a waiting change takes no thread of a request.
    changing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    def __post_init__(self) -> None:
        self.threads = CapacityLimiter(THREADS if self.router.ask_needs is None else THREADS + ASKING)

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


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path.

    Attributes:
        handle: What answers it.
        tag: The group of operations that it belongs to.
        answer: The type of its answer; a text says that the answer is a text, or none with status 204, and of what.
        takes: The struct of its body, or of the query string where the method is GET; None for neither.
        fails: Statuses of failures beside those that such operations have in common.
    """

    handle: Callable[[Call[Any]], object]
    _: KW_ONLY
    method: str
    path: str
    tag: str
    answer: type | str
    status: int = 200
    takes: type[msgspec.Struct] | None = None
    fails: tuple[int, ...] = ()

    @property
    def body(self) -> type[msgspec.Struct] | None:
        """Return the struct of its body, None for none."""
        return None if self.method == "GET" else self.takes

    @property
    def failures(self) -> list[int]:
        """Return the statuses of the failures that it may answer with."""
        found = {*(_FAILURES_OF_PROBES if self.path in PROBES else _FAILURES_OF_GUARD), *self.fails}
        found |= {422} if self.takes else set()
        found |= {404, 422} if self.body or "{" in self.path else set()
        found |= {403} if self.tag == "changes" else set()
        return sorted(found | ({415} if self.body else set()))
