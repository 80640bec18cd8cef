"""Which runs of several the hook is called for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.failure import Failure
from pipeline.ledger import QuarantinedTool
from pipeline.monitoring import MonitoredRun, announce
from pipeline.monitoring.told import without_figures
from pipeline.settings import MetricsSettings, NotifySettings
from tests.pipeline.monitoring.conftest import BEGAN
from tests.pipeline.monitoring.receiver import Receiver

Make = Callable[..., MonitoredRun]
GOOD: dict[str, Any] = {}
MODEL: dict[str, Any] = {"degraded": ("the model could not be asked: 503",)}
TWO: dict[str, Any] = {"degraded": (*MODEL["degraded"], "mail.json keeps its last known records")}
FAILED: dict[str, Any] = {"failure": Failure("settings_invalid", "publish.keep is 0", 2)}
NEWLY_HELD: dict[str, Any] = {"quarantined": (QuarantinedTool("a/b", "new", "0123", BEGAN, 9, 100, 0.5),)}


@pytest.fixture
def told(make_run: Make, server: Receiver, tmp_path: Path) -> Callable[..., list[str]]:
    """Announce runs one after the other; return the first event of each message, and "" for a run without one."""

    def tell(*nights: dict[str, Any], **settings: Any) -> list[str]:
        events = []
        for night in nights:
            server.posted.clear()
            notify = NotifySettings(url=server.url, **settings)
            announce(make_run(**night), notify, MetricsSettings(), tmp_path, tmp_path / "last.json")
            events.append(",".join(posted.json()["event"] for posted in server.posted))
        return events

    return tell


@pytest.mark.parametrize(
    ("nights", "events"),
    [
        ((MODEL, MODEL, GOOD, GOOD), ["degraded", "", "recovered", ""]),
        ((MODEL, TWO, MODEL), ["degraded"] * 3),
        ((MODEL, FAILED, FAILED, GOOD), ["degraded", "failed", "", "recovered"]),
        ((MODEL, NEWLY_HELD, GOOD), ["degraded", "quarantined", "recovered"]),
        ((MODEL, {**MODEL, **NEWLY_HELD}, MODEL), ["degraded", "quarantined", ""]),
        ((NEWLY_HELD, GOOD), ["quarantined", ""]),
    ],
)
def test_the_hook_hears_of_new_reasons_and_of_the_end_of_trouble(
    told: Any, nights: tuple[dict[str, Any], ...], events: list[str]
) -> None:
    assert told(*nights) == events


def test_trouble_that_lasts_is_told_again_after_so_many_builds(told: Any) -> None:
    assert told(*[MODEL] * 5, remind_after=3) == ["degraded", "", "", "degraded", ""]
    assert told(*[MODEL] * 2, remind_after=1) == ["degraded"] * 2


def test_what_did_not_arrive_is_told_by_the_next_build(told: Any, server: Receiver) -> None:
    server.status = 500
    assert told(MODEL) == ["degraded"]
    server.status = 200
    assert told(MODEL, MODEL) == ["degraded", ""]
    server.status = 500
    assert told(GOOD) == ["recovered"]
    server.status = 200
    assert told(GOOD, GOOD) == ["recovered", ""]


def test_a_figure_or_an_age_is_no_new_reason() -> None:
    reason = "2 sources keep their last known records: {} (1 tool of 2026-11-23 02:00, {} ago)"
    ages = ("23 hours", "1 day", "2 days")
    assert len({without_figures([reason.format("mail.json", age)]) for age in ages}) == 1
    assert without_figures([reason.format("mail.json", "1 day")]) != without_figures([reason.format("a.json", "1 day")])


def test_a_state_that_cannot_be_read_or_written_is_told_and_the_hook_is_called_each_night(
    told: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "last.json").mkdir()
    assert told(MODEL, MODEL) == ["degraded"] * 2
    assert "could not be kept" in caplog.text and "is not known" in caplog.text
