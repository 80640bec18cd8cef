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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import time_ns
from typing import Any

from router.answer.results import RoutedTools

_CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CONTENT_SHOWN = ("true", "span_only", "span_and_event")
_TOTAL = "all"  # the key of RoutedTools.ms for the whole route


@contextmanager
def route_span(request: object, k: int) -> Iterator[Callable[[RoutedTools], None]]:
    """Put a span around one route, current inside the block, and yield the function that records the answer in it.

    An error that leaves the block is recorded.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or getattr(api.__spec__, "_initializing", False):  # another thread is in the middle of its import
        yield lambda routed: None
        return
    tracer, began = _tracer(api), time_ns()
    span = tracer.start_span("quartermaster.route", start_time=began)
    with api.use_span(span, end_on_exit=True):
        if span.is_recording():
            span.set_attribute("quartermaster.k", k)
            if os.environ.get(_CONTENT_VARIABLE, "").lower() in _CONTENT_SHOWN:
                span.set_attribute("quartermaster.request", str(request))
        yield partial(_record, tracer, span, began)


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


def _record(tracer: Any, span: Any, began: int, routed: RoutedTools) -> None:
    """Set the attributes of the answer, and add a span for each stage."""
    if not span.is_recording():
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
        "latest_fits": routed.latest_fits,
        "calibrated": None if routed.fits is None else routed.calibrated,
        "tokens": routed.tokens,
        "failed": routed.failed or None,
    }
    known = {f"quartermaster.{name}": value for name, value in attributes.items() if value is not None}
    span.set_attributes(known)
    # Only the length of each stage is known: each is taken to begin where the one before it ended.
    for stage, ms in routed.ms.items():
        if stage != _TOTAL:
            ended = began + round(ms * 1e6)
            tracer.start_span(f"quartermaster.{stage}", start_time=began).end(end_time=ended)
            began = ended
