"""A receiver, and a run to announce."""

from collections.abc import Callable, Iterator
from dataclasses import fields as fields_of
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.build_state import ToolDifference
from pipeline.enrichment import GenerationFailure
from pipeline.enrichment.generator import TokenUsage
from pipeline.monitoring import BuildReport, MonitoredRun
from pipeline.monitoring.run import failed_report
from tests.pipeline.monitoring.receiver import Receiver, receiver

BEGAN = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
_OF_REPORTS = {field.name for field in fields_of(BuildReport)}


@pytest.fixture
def server() -> Iterator[Receiver]:
    """An HTTP server that keeps what is posted."""
    with receiver() as running:
        yield running


@pytest.fixture
def make_run() -> Callable[..., MonitoredRun]:
    """Make a run of 90 seconds that published, or failed, but for the given fields of the run and of its report."""

    def make(**fields: Any) -> MonitoredRun:
        of_report: dict[str, Any] = {
            "snapshot": Path(".quartermaster/snapshots/office/20261123T020130Z-0123abcd"),
            "outcome": "published",
            "counts": {"tools": 203, "rejected": 1},
            "difference": ToolDifference("old", ("a", "b"), ("c", "d", "e"), ("f", "g", "h", "i")),
            "failures": (GenerationFailure("a", "timeout", "late"),) * 5,
            "asked": {"openai": 5},
            "usage": TokenUsage(cost_usd=0.25),
        }
        of_report |= {name: fields.pop(name) for name in list(fields) if name in _OF_REPORTS and name != "seconds"}
        report = failed_report() if "failure" in fields else BuildReport(**of_report)
        ends = {"started_at": BEGAN, "finished_at": BEGAN + timedelta(seconds=90)}
        run: dict[str, Any] = {"run": 7, "seconds": {"read": 1.5, "enrich": 80.0}, "report": report, **ends}
        return MonitoredRun("office", **(run | fields))

    return make
