"""What happened in a run, and what is told of it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pipeline.failure import Failure
from pipeline.monitoring import MonitoredRun
from pipeline.sources.last_reading import StaleSource
from tests.pipeline.monitoring.conftest import BEGAN

Make = Callable[..., MonitoredRun]
_STALE = StaleSource("mail", "is down", BEGAN, timedelta(days=1), 2)


@pytest.mark.parametrize(
    ("fields", "events"),
    [
        ({}, ()),
        ({"outcome": "unchanged", "previous": "published"}, ()),
        ({"held": ("a gate",)}, ("held",)),
        ({"degraded": ("a model",)}, ("degraded",)),
        (
            {"stale_sources": (_STALE,), "degraded": ("old",), "held": ("a gate",)},
            ("held", "stale", "degraded"),
        ),
        ({"failure": Failure("run_aborted", "no disk", 3)}, ("failed",)),
        *(({"previous": bad}, ("recovered",)) for bad in ("failed", "held", "killed", "degraded")),
        ({"previous": "failed", "degraded": ("a model",)}, ("degraded",)),
    ],
)
def test_the_events_of_a_run_are_its_troubles_or_the_end_of_trouble(
    make_run: Make, fields: dict[str, Any], events: tuple[str, ...]
) -> None:
    assert make_run(**fields).events == events


def test_the_payload_holds_what_an_alert_needs_and_no_secret(make_run: Make) -> None:
    failure = Failure("run_aborted", "the server refused the key sk-12345", 3)
    run = make_run(failure=failure, secrets=frozenset(["sk-12345"]))
    content = run.payload(run.events)
    assert (content["schema"], content["event"], content["events"]) == (1, "failed", ["failed"])
    assert (content["outcome"], content["exit_code"], content["run"], content["snapshot"]) == ("failed", 3, 7, None)
    assert content["reasons"] == ["the server refused the key …"]
    assert content["text"] == "office: the build failed: the server refused the key …"
    assert (content["started_at"], content["time"]) == ("2026-11-23T02:00:00+00:00", "2026-11-23T02:01:30+00:00")
    assert content["seconds"] == 90.0 and content["host"]


def test_the_text_of_a_held_snapshot_ends_with_the_command_that_serves_it(make_run: Make) -> None:
    command = "quartermaster snapshots office --use 20261123T020130Z-0123abcd"
    run = make_run(outcome="held", held=("x" * 5_000, "y" * 5_000))
    text = run.payload(run.events)["text"]
    assert text.endswith(f". To serve it all the same: {command}") and len(text) <= 1_000


def test_a_payload_stays_small_however_many_reasons_there_are(make_run: Make) -> None:
    run = make_run(degraded=tuple(f"source {n}: {'x' * 2_000}" for n in range(500)))
    assert len(str(run.payload(run.events))) < 20_000
