"""Metrics by OTLP, to a receiver on loopback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.monitoring import MonitoredRun, announce
from pipeline.settings import MetricsSettings, NotifySettings
from tests.pipeline.monitoring.receiver import Receiver

Make = Callable[..., MonitoredRun]


def told(run: MonitoredRun, folder: Path, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Announce a run, and return what was warned of."""
    announce(run, NotifySettings(), MetricsSettings(), folder)
    return [record.getMessage() for record in caplog.records if record.name == "pipeline.monitoring.announce"]


def test_a_receiver_of_the_environment_gets_the_figures_once(
    make_run: Make,
    server: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (  # type: ignore[import-not-found,unused-ignore]
        ExportMetricsServiceRequest,
    )

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t0ken")
    assert told(make_run("held", held=("a gate",)), tmp_path, caplog) == ["gate: a gate"]
    (posted,) = server.posted
    assert (posted.path, posted.headers["authorization"]) == ("/v1/metrics", "Bearer t0ken")
    (sent,) = ExportMetricsServiceRequest.FromString(posted.body).resource_metrics
    assert {a.key: a.value.string_value for a in sent.resource.attributes}["service.name"] == "quartermaster"
    metrics: dict[str, Any] = {metric.name: metric for scope in sent.scope_metrics for metric in scope.metrics}
    (cost,) = metrics["quartermaster_build_cost_usd"].gauge.data_points
    assert cost.as_double == 0.25 and metrics["quartermaster_build_cost_usd"].unit == "USD"
    assert {a.key: a.value.string_value for a in cost.attributes} == {"catalog": "office"}
    outcomes = {
        next(a.value.string_value for a in point.attributes if a.key == "outcome"): point.as_double
        for point in metrics["quartermaster_build_outcome"].gauge.data_points
    }
    assert outcomes == {"published": 0, "unchanged": 0, "held": 1, "failed": 0}


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "{url}", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "{url}", "OTEL_METRICS_EXPORTER": "none"},
    ],
)
def test_nothing_is_sent_where_the_environment_does_not_want_it(
    make_run: Make,
    server: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variables: dict[str, str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(url=server.url))
    assert told(make_run(), tmp_path, caplog) == []
    assert server.posted == []


def test_a_receiver_that_refuses_another_protocol_and_a_missing_package_are_told(
    make_run: Make, server: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    server.status = 401
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{server.url}/v1/metrics")
    assert told(make_run(), tmp_path, caplog)[-1].startswith("the metrics could not be sent: the receiver")
    monkeypatch.setattr("pipeline.monitoring.otlp._EXPORTER", "opentelemetry.exporter.nowhere")
    assert "is not installed" in told(make_run(), tmp_path, caplog)[-1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert "OTLP over grpc is not supported" in told(make_run(), tmp_path, caplog)[-1]
