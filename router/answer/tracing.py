"""OpenTelemetry spans of routes, for a program that traces.

The API is never imported here: a program that configures tracing has imported it already, any other sees no spans. So
there is no dependency, and a route that is not traced pays for one look into `sys.modules`.

    quartermaster.route                 snapshot, recipe, k, tools, none_fits, fits, calibrated, dropped, tokens; errors
    └── quartermaster.find, .rerank, …  one for each stage that `RoutedTools.ms` names, end to end

Requests are private, and stay out of the spans unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, the variable
that other instrumentations read, says otherwise.
"""

import os
import sys
from contextlib import AbstractContextManager
from time import time_ns
from types import TracebackType
from typing import Any, Protocol, Self

from router.answer.results import RoutedTools

_CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CONTENT_SHOWN = ("true", "span_only", "span_and_event")
_TOTAL = "all"  # the key of RoutedTools.ms for the whole route


class RouteSpan(Protocol):
    """A context in which a request is routed, and which is then given the answer."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def record(self, routed: RoutedTools) -> None:
        """Record the answer."""


def route_span(request: object, k: int) -> RouteSpan:
    """Return a span around one route. It ends with the block, and records an error that leaves the block.

    with tracing.route_span(request, k) as span:
        span.record(routed := …)
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or getattr(api.__spec__, "_initializing", False):  # another thread is in the middle of its import
        return _NO_SPAN
    return _OpenTelemetrySpan(api, request, k)


class _NoSpan:
    """The span of every route that is not traced. It does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def record(self, routed: RoutedTools) -> None:
        return None


_NO_SPAN = _NoSpan()


_last: tuple[Any, Any] = (None, None)  # a provider and its tracer


def _tracer(api: Any) -> Any:
    """Return the tracer of the current provider, which a program may set or replace after the first route.

    It is kept, because the SDK's provider takes a lock and changes the warnings filter for each tracer that it gives.
    """
    global _last
    provider = api.get_tracer_provider()
    known, tracer = _last
    if known is not provider:
        tracer = provider.get_tracer("quartermaster")
        _last = (provider, tracer)
    return tracer


class _OpenTelemetrySpan:
    """A span that is current while a request is routed, so that the caller's span is its parent."""

    def __init__(self, api: Any, request: object, k: int) -> None:
        self._api, self._request, self._k = api, request, k
        self._tracer = _tracer(api)

    def __enter__(self) -> Self:
        self._began = time_ns()
        self._span = self._tracer.start_span("quartermaster.route", start_time=self._began)
        self._entered: AbstractContextManager[Any] = self._api.use_span(self._span, end_on_exit=True)
        self._entered.__enter__()
        if self._span.is_recording():
            self._span.set_attribute("quartermaster.k", self._k)
            if os.environ.get(_CONTENT_VARIABLE, "").lower() in _CONTENT_SHOWN:
                self._span.set_attribute("quartermaster.request", str(self._request))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.__exit__(kind, error, trace)

    def record(self, routed: RoutedTools) -> None:
        """Set the attributes of the answer, and add a span for each stage."""
        if not self._span.is_recording():
            return
        attributes = {
            "snapshot": routed.snapshot,
            "recipe": routed.recipe,
            "tools": routed.ids,
            "tools.count": len(routed),
            "always.count": len(routed.always),
            "dropped.count": len(routed.dropped),
            "prerequisites.count": sum(bool(tool.needed_by) for tool in routed),
            "none_fits": routed.none_fits,
            "fits": routed.fits,
            "calibrated": None if routed.fits is None else routed.calibrated,
            "tokens": routed.tokens,
            "failed": routed.failed or None,
        }
        known = {f"quartermaster.{name}": value for name, value in attributes.items() if value is not None}
        self._span.set_attributes(known)
        began = self._began
        # Only the length of each stage is known: each is taken to begin where the one before it ended.
        for stage, ms in routed.ms.items():
            if stage != _TOTAL:
                ended = began + round(ms * 1e6)
                self._tracer.start_span(f"quartermaster.{stage}", start_time=began).end(end_time=ended)
                began = ended
