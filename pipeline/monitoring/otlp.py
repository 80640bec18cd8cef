"""The metrics of a run, sent by OTLP where the standard variables of OpenTelemetry name a receiver."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pipeline.monitoring.figures import Figure

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
_SECONDS = 10.0  # OpenTelemetry's own default for one request, which it starts anew with each byte
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.metric_exporter"


class NotSent(Exception):
    """The metrics could not be sent. The message says why."""


def is_configured() -> bool:
    """Return whether the environment names a receiver of metrics, and does not turn them off."""
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    wanted = os.environ.get("OTEL_METRICS_EXPORTER", "otlp").strip() in ("", "otlp")
    return wanted and not disabled and any(os.environ.get(name) for name in _ENDPOINTS)


def send(catalog: str, figures: Sequence[Figure]) -> None:
    """Send the metrics of a catalog's run, once. Raises NotSent.

    Nothing global is set: a program that measures itself keeps its own provider.
    """
    protocol = next((value for name in _PROTOCOLS if (value := os.environ.get(name))), "http/protobuf")
    if protocol != "http/protobuf":
        raise NotSent(f"OTLP over {protocol} is not supported: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
    from pipeline.sources.transport.http_session import DeadlineSession

    try:
        session = DeadlineSession(_seconds())
        exporter: Any = import_module(_EXPORTER).OTLPMetricExporter(session=session)
    except ModuleNotFoundError:
        raise NotSent("this needs opentelemetry-exporter-otlp-proto-http, which is not installed") from None
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
    from opentelemetry.sdk.resources import Resource

    from router.distribution import version

    reader = InMemoryMetricReader()
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over this name.
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if named else {"service.name": "quartermaster"})
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    try:
        meter = provider.get_meter("quartermaster", version())
        for figure in figures:
            gauge = meter.create_gauge(figure.name, figure.unit, figure.about)
            for labels, sample in figure.samples:
                gauge.set(sample, {"catalog": catalog, **labels})
        data = reader.get_metrics_data()
        with session:
            sent = data is not None and exporter.export(data) is MetricExportResult.SUCCESS
        if not sent:
            raise NotSent("the receiver of OTEL_EXPORTER_OTLP_ENDPOINT did not take the metrics")
    finally:
        provider.shutdown()
        exporter.shutdown()


def _seconds() -> float:
    """Return how long sending may take in all: as the standard variables say, else ten seconds."""
    for name in _TIMEOUTS:
        try:
            return max(0.1, float(os.environ[name]))
        except (KeyError, ValueError):
            continue
    return _SECONDS
