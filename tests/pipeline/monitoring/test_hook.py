"""The hook: a real command, a real HTTP server, and what is told where they fail."""

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.failure import Failure
from pipeline.monitoring import MonitoredRun, announce
from pipeline.settings import MetricsSettings, NotifySettings
from tests.pipeline.monitoring.receiver import Receiver

Make = Callable[..., MonitoredRun]
KEEP = "import sys; open('told.json', 'w').write(sys.stdin.read())"


def notified(run: MonitoredRun, folder: Path, **fields: Any) -> None:
    """Announce a run by a hook alone."""
    announce(run, NotifySettings(**fields), MetricsSettings(), folder)


def failed(make_run: Make) -> MonitoredRun:
    """A run that failed."""
    return make_run(failure=Failure("run_aborted", "no disk", 3))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was warned of the hook."""
    records = [record for record in caplog.records if getattr(record, "event", "") == "not_told"]
    assert all(record.levelno == logging.WARNING for record in records)
    return [record.getMessage() for record in records]


def test_a_command_reads_the_json_on_its_standard_input_in_the_catalogs_folder(make_run: Make, tmp_path: Path) -> None:
    notified(failed(make_run), tmp_path, command=(sys.executable, "-c", KEEP))
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert (told["event"], told["catalog"], told["reasons"]) == ("failed", "office", ["no disk"])


def test_a_url_is_sent_the_json_with_headers_from_the_environment_for_its_events_alone(
    make_run: Make, server: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret-t0ken")
    headers = {"Authorization": "Bearer ${HOOK_TOKEN}"}
    notified(failed(make_run), tmp_path, url=f"{server.url}/hooks/${{HOOK_TOKEN}}?x=1", headers=headers)
    (posted,) = server.posted
    assert posted.path == "/hooks/s3cret-t0ken?x=1"
    assert posted.headers["authorization"] == "Bearer s3cret-t0ken"
    assert posted.headers["content-type"] == "application/json"
    assert posted.json()["event"] == "failed"
    server.posted.clear()
    notified(make_run(), tmp_path, url=server.url)
    notified(make_run(degraded=("a model",)), tmp_path, url=server.url, events=("held", "failed"))
    assert server.posted == []
    notified(make_run(degraded=("a model",), held=("a gate",)), tmp_path, url=server.url, events=("degraded",))
    assert [posted.json()["events"] for posted in server.posted] == [["degraded"]]


@pytest.mark.parametrize(
    ("command", "warning"),
    [
        (("no-such-program",), "notify.command 'no-such-program' could not be started: No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit('no route')"), "ended with exit code 1: no route"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "took more than 0.1 s"),
    ],
)
def test_a_command_that_fails_is_told_and_stops_nothing(
    make_run: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, command: tuple[str, ...], warning: str
) -> None:
    notified(failed(make_run), tmp_path, command=command, timeout_s=0.1 if "sleep" in command[-1] else 20)
    (told,) = warnings(caplog)
    assert told.startswith("the hook failed: ") and warning in told


@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        ({"status": 500}, "answered 500"),
        ({"status": 302, "location": "/elsewhere"}, "answered 302"),
        (None, "took more than 0.2 s"),
    ],
)
def test_a_url_that_fails_is_told_without_its_path(
    make_run: Make,
    server: Receiver,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    answer: dict[str, Any] | None,
    warning: str,
) -> None:
    if answer is None:
        server.answers.clear()
    for name, value in (answer or {}).items():
        setattr(server, name, value)
    notified(failed(make_run), tmp_path, url=f"{server.url}/T0K3N", timeout_s=20 if answer else 0.2)
    (told,) = warnings(caplog)
    assert told == f"the hook failed: notify.url at 127.0.0.1 {warning}"
    assert len(server.posted) == 1 or answer is None
