"""A receiver, and a run to tell of."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipeline.monitoring import MonitoredRun
from tests.pipeline.monitoring.receiver import Receiver, receiver

BEGAN = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[Receiver]:
    """An HTTP server that keeps what is posted."""
    with receiver() as running:
        yield running


@pytest.fixture
def make_run() -> Callable[..., MonitoredRun]:
    """Make a run of 90 seconds that published, but for the given fields."""

    def make(outcome: str = "published", **fields: Any) -> MonitoredRun:
        defaults: dict[str, Any] = {
            "run": 7,
            "snapshot": "20261123T020130Z-0123abcd" if outcome != "failed" else None,
            "counts": {"tools": 203, "rejected": 1, "added": 2, "changed": 3, "removed": 4, "failures": 5},
            "seconds": {"read": 1.5, "enrich": 80.0},
            "asked": {"openai": 5},
            "cost_usd": 0.25,
        }
        return MonitoredRun("office", outcome, BEGAN, BEGAN + timedelta(seconds=90), **(defaults | fields))

    return make
