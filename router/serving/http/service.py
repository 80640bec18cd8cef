"""What the paths share: the router, the metrics, and threads for work that would hold up the event loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from router.answer.executor import THREADS
from router.router import Router
from router.serving.http.metrics import Metrics
from router.serving.http.settings import HttpSettings

_T = TypeVar("_T")


@dataclass(slots=True)
class Service:
    """One app's. `ready` says whether requests are answered, `problem` why not."""

    router: Router
    settings: HttpSettings
    metrics: Metrics
    problem: str = "starting"
    # As many as the router's own: more would only share the cores.
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))

    @property
    def ready(self) -> bool:
        """Whether requests are answered."""
        return not self.problem

    async def aside(self, call: Callable[[], _T]) -> _T:
        """What a call returns, made in a thread."""
        return await anyio.to_thread.run_sync(call, limiter=self._threads)
