"""Spans of routes, read from OpenTelemetry's own exporter in memory; and routes without OpenTelemetry."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
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


def test_a_route_is_a_span_that_says_what_was_answered_and_not_what_was_asked(exporter: InMemorySpanExporter) -> None:
    tracer = trace.get_tracer("agent")
    with tracer.start_as_current_span("turn") as turn, tracing.route_span("refund Ada Lovelace", 5) as record:
        assert trace.get_current_span() is not turn
        record(ROUTED)
    find, rerank, route, outer = exporter.get_finished_spans()
    assert route.status.status_code is StatusCode.UNSET
    assert route.parent and route.parent.span_id == outer.context.span_id
    assert dict(route.attributes or {}) == {
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
    # Stages are its children, one after the other; the sum of all is none.
    assert [find.name, rerank.name] == ["quartermaster.find", "quartermaster.rerank"]
    assert find.parent and rerank.parent and find.parent.span_id == rerank.parent.span_id == route.context.span_id
    assert find.start_time == route.start_time and rerank.start_time == find.end_time
    assert (find.end_time or 0) - (find.start_time or 0) == 2_000_000


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
with tracing.route_span("refund", 5) as record:
    record(RoutedTools((), "one", "default"))
print([name for name, module in sys.modules.items() if name.startswith("opentelemetry") and module])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_a_router_traces_its_routes(exporter: InMemorySpanExporter, router: Router) -> None:
    routed = router.route("give the customer their money back", k=3)
    attributes = next(span for span in exporter.get_finished_spans() if span.name == "quartermaster.route").attributes
    assert attributes and attributes["quartermaster.tools"] == routed.ids and attributes["quartermaster.k"] == 3
