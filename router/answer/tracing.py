"""OpenTelemetry spans of routes, where the program that holds the router traces.

The API is never imported here: a program that configures tracing has imported it, and one that has not sees no spans.
So there is no dependency, and a route that nobody traces pays for one look into `sys.modules`.

    quartermaster.route                 snapshot, recipe, k, tools, none_fits, fits, calibrated, dropped, tokens; errors
    └── quartermaster.find, .rerank, …  one for each stage that `RoutedTools.ms` names, end to end

A request is what somebody said, and stays out of the spans unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
says otherwise, the variable by which other instrumentations keep or show messages.
"""

import os
import sys
from contextlib import AbstractContextManager
from time import time_ns
from types import TracebackType
from typing import Any, Protocol, Self

from router.answer.results import RoutedTools

_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_SHOWN = ("true", "span_only", "span_and_event")
_WHOLE = "all"  # the stage of RoutedTools.ms that is the sum of the others


class Traced(Protocol):
    """What `route` gives: entered around the routing of a request, and told the answer."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def answered(self, routed: RoutedTools) -> None:
        """Say what the answer was."""


def route(request: object, k: int) -> Traced:
    """A span around one route, which ends with the block and records an error that leaves it.

    with tracing.route(request, k) as span:
        span.answered(routed := …)
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or getattr(api.__spec__, "_initializing", False):  # another thread is in the middle of its import
        return _UNTRACED
    return _Span(api, request, k)


class _Untraced:
    """Nothing, for all routes at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def answered(self, routed: RoutedTools) -> None:
        return None


_UNTRACED = _Untraced()


_last: tuple[Any, Any] = (None, None)  # a provider and its tracer


def _tracer(api: Any) -> Any:
    """The tracer of the provider that is set now, which may be set, or another be, after the first route.

    Kept, for the SDK's provider takes a lock and changes the warnings filter whenever it is asked for one.
    """
    global _last
    provider = api.get_tracer_provider()
    known, tracer = _last
    if known is not provider:
        tracer = provider.get_tracer("quartermaster")
        _last = (provider, tracer)
    return tracer


class _Span:
    """A span that is current while a request is routed, so that it hangs under the caller's."""

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
            if os.environ.get(_CONTENT, "").lower() in _SHOWN:
                self._span.set_attribute("quartermaster.request", str(self._request))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.__exit__(kind, error, trace)

    def answered(self, routed: RoutedTools) -> None:
        """Its attributes, and a span for each stage."""
        if not self._span.is_recording():
            return
        said = {
            "snapshot": routed.snapshot,
            "recipe": routed.recipe,
            "tools": routed.ids,
            "tools.count": len(routed),
            "always.count": len(routed.always),
            "dropped.count": len(routed.dropped),
            "none_fits": routed.none_fits,
            "fits": routed.fits,
            "calibrated": None if routed.fits is None else routed.calibrated,
            "tokens": routed.tokens,
            "failed": routed.failed or None,
        }
        known = {f"quartermaster.{name}": value for name, value in said.items() if value is not None}
        self._span.set_attributes(known)
        began = self._began
        # The router knows how long each stage took, in their order; that they begin where the one before ended leaves
        # what lies between them for the end.
        for stage, ms in routed.ms.items():
            if stage != _WHOLE:
                ended = began + round(ms * 1e6)
                self._tracer.start_span(f"quartermaster.{stage}", start_time=began).end(end_time=ended)
                began = ended
