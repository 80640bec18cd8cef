"""Spans of routes, read from OpenTelemetry's own exporter in memory; and routes without OpenTelemetry."""

import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from router import Router
from router.answer import tracing
from router.answer.results import RoutedTool, RoutedTools
from tests.support.factories import make_record
from tests.support.places import ROOT

TOOL = RoutedTool("stripe/list_charges", make_record(), 1.5)
ROUTED = RoutedTools((TOOL,), "20261122T151010Z-2d969a96", "default", 0.75, ms={"find": 2.0, "rerank": 5.0, "all": 8.0})


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What a program's own provider exports. A process may set one only once, so it is put in its place."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield memory
    provider.shutdown()


def by_name(spans: Sequence[ReadableSpan]) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans}


def test_a_route_is_a_span_that_says_what_was_answered_and_not_what_was_asked(exporter: InMemorySpanExporter) -> None:
    tracer = trace.get_tracer("agent")
    with tracer.start_as_current_span("turn") as turn, tracing.route_span("refund Ada Lovelace", 5) as span:
        assert trace.get_current_span() is not turn
        span.record(ROUTED)
    spans = by_name(exporter.get_finished_spans())
    ended = spans["quartermaster.route"]
    assert ended.status.status_code is StatusCode.UNSET
    assert ended.parent and ended.parent.span_id == spans["turn"].context.span_id
    assert dict(ended.attributes or {}) == {
        "quartermaster.k": 5,
        "quartermaster.snapshot": "20261122T151010Z-2d969a96",
        "quartermaster.recipe": "default",
        "quartermaster.tools": ("stripe/list_charges",),
        "quartermaster.tools.count": 1,
        "quartermaster.always.count": 0,
        "quartermaster.dropped.count": 0,
        "quartermaster.prerequisites.count": 0,
        "quartermaster.none_fits": False,
        "quartermaster.fits": 0.75,
        "quartermaster.calibrated": False,
    }


def test_stages_are_children_one_after_the_other_and_the_sum_of_all_is_none(exporter: InMemorySpanExporter) -> None:
    with tracing.route_span("refund", 5) as span:
        span.record(ROUTED)
    spans = by_name(exporter.get_finished_spans())
    assert set(spans) == {"quartermaster.route", "quartermaster.find", "quartermaster.rerank"}
    whole, first, second = (spans[f"quartermaster.{name}"] for name in ("route", "find", "rerank"))
    assert first.parent and second.parent and first.parent.span_id == second.parent.span_id == whole.context.span_id
    assert first.start_time == whole.start_time and second.start_time == first.end_time
    assert (first.end_time or 0) - (first.start_time or 0) == 2_000_000


def test_the_request_is_shown_where_the_variable_of_other_instrumentations_says_so_and_errors_are(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "True")
    with pytest.raises(ValueError, match="no such tool"), tracing.route_span("refund Ada Lovelace", 5):
        raise ValueError("no such tool")
    (ended,) = exporter.get_finished_spans()
    assert (ended.attributes or {})["quartermaster.request"] == "refund Ada Lovelace"
    assert ended.status.status_code is StatusCode.ERROR
    assert [event.name for event in ended.events] == ["exception"]


@pytest.mark.parametrize("absent", ["sys.modules['opentelemetry'] = None", ""], ids=["not installed", "not used"])
def test_a_program_that_does_not_trace_is_spared_the_import(absent: str) -> None:
    code = f"""
import sys
{absent}
from router import Router
from router.answer import tracing
from router.answer.results import RoutedTools
with tracing.route_span("refund", 5) as span:
    span.record(RoutedTools((), "one", "default"))
print([name for name, module in sys.modules.items() if name.startswith("opentelemetry") and module])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_a_router_traces_its_routes(exporter: InMemorySpanExporter, router: Router) -> None:
    routed = router.route("give the customer their money back", k=3)
    attributes = by_name(exporter.get_finished_spans())["quartermaster.route"].attributes or {}
    assert attributes["quartermaster.tools"] == routed.ids and attributes["quartermaster.snapshot"] == routed.snapshot
    assert attributes["quartermaster.k"] == 3
