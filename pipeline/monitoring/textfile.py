"""The metrics of a run as a file in the OpenMetrics text format.

It holds gauges alone, so it is valid in Prometheus's older text format too, which node_exporter reads.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pipeline.monitoring.figures import Figure


def write_textfile(place: Path, catalog: str, figures: Sequence[Figure]) -> Path:
    """Write the metrics of a catalog's run, and return the file: `place`, or a file of the catalog's in that folder.

    A reader sees the old file or the new one, never half. Raises OSError where it cannot be written.
    """
    from prometheus_client import CollectorRegistry, Gauge
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry()
    for figure in figures:
        names = ["catalog", *figure.samples[0][0]]
        gauge = Gauge(figure.name, figure.about, names, registry=registry)
        for labels, value in figure.samples:
            gauge.labels(catalog=catalog, **labels).set(value)
    path = place / f"quartermaster_{re.sub(r'[^A-Za-z0-9_]', '_', catalog)}.prom" if place.is_dir() else place
    _replace(path, generate_latest(registry))  # type: ignore[no-untyped-call]
    return path


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside its place, readable by everybody, and put it there."""
    # Its name does not end with .prom: a collector must not read it.
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(content)
            os.fchmod(stream.fileno(), 0o644)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
