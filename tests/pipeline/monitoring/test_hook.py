"""The hook: a real command, a real HTTP server, what is told where they fail, and what they must not show."""

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.current_run import CurrentRun
from pipeline.failure import Failure
from pipeline.monitoring import MonitoredRun, announce, secrets_of
from pipeline.settings import MetricsSettings, NotifySettings, load
from tests.pipeline.monitoring.receiver import Receiver

KEEP = "import sys; open('told.json', 'w').write(sys.stdin.read())"
FAILED = Failure("run_aborted", "no disk", 3)


@pytest.fixture
def notified(make_run: Callable[..., MonitoredRun], tmp_path: Path) -> Callable[..., None]:
    """Announce a run by a hook alone: one that failed, or one of these fields."""

    def notify(fields: dict[str, Any] | None = None, **settings: Any) -> None:
        run = make_run(**({"failure": FAILED} if fields is None else fields))
        (tmp_path / "last.json").unlink(missing_ok=True)
        announce(run, NotifySettings(**settings), MetricsSettings(), tmp_path, tmp_path / "last.json")

    return notify


def test_a_command_reads_the_json_on_its_standard_input_in_the_catalogs_folder(notified: Any, tmp_path: Path) -> None:
    notified(command=(sys.executable, "-c", KEEP))
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert (told["event"], told["catalog"], told["reasons"]) == ("failed", "office", ["no disk"])


def test_a_url_is_sent_the_json_with_headers_from_the_environment_for_its_events_alone(
    notified: Any, server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret-t0ken")
    headers = {"Authorization": "Bearer ${HOOK_TOKEN}"}
    notified(url=f"{server.url}/hooks/${{HOOK_TOKEN}}?x=1", headers=headers)
    (posted,) = server.posted
    assert posted.path == "/hooks/s3cret-t0ken?x=1"
    assert posted.headers["authorization"] == "Bearer s3cret-t0ken"
    assert posted.headers["content-type"] == "application/json"
    assert posted.json()["event"] == "failed"
    server.posted.clear()
    notified({}, url=server.url)
    notified({"degraded": ("a model",)}, url=server.url, events=("held", "failed"))
    assert server.posted == []
    notified({"degraded": ("a model",), "held": ("a gate",)}, url=server.url, events=("degraded",))
    assert [posted.json()["events"] for posted in server.posted] == [["degraded"]]


@pytest.mark.parametrize(
    ("hook", "answer", "warning"),
    [
        (("no-such-program",), {}, "notify.command 'no-such-program' could not be started: No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit('no route')"), {}, "ended with exit code 1: no route"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), {}, "took more than 0.2 s"),
        ("/T0K3N", {"status": 500}, "notify.url at 127.0.0.1 answered 500"),
        ("/T0K3N", {"status": 302, "location": "/elsewhere"}, "notify.url at 127.0.0.1 answered 302"),
        ("/T0K3N", None, "notify.url at 127.0.0.1 took more than 0.2 s"),
    ],
)
def test_a_hook_that_fails_is_told_without_its_path_and_stops_nothing(
    notified: Any,
    server: Receiver,
    caplog: pytest.LogCaptureFixture,
    hook: str | tuple[str, ...],
    answer: dict[str, Any] | None,
    warning: str,
) -> None:
    if answer is None:
        server.answers.clear()
    for name, value in (answer or {}).items():
        setattr(server, name, value)
    where = {"url": f"{server.url}{hook}"} if isinstance(hook, str) else {"command": hook}
    notified(**where, timeout_s=0.2 if "took more" in warning else 20)
    (record,) = (record for record in caplog.records if getattr(record, "event", "") == "not_told")
    told = record.getMessage()
    assert record.levelno == logging.WARNING and told.startswith("the hook failed: notify.") and told.endswith(warning)
    assert "T0K3N" not in told and (answer is None or len(server.posted) == bool(answer))


_CATALOG = """
[[source]]
url = "https://user:pa55word@tools.example/${PATH_KEY}?key=qu3ry"
headers = {Authorization = "Bearer ${TOKEN}"}

[enrichment]
api_key = "sk-own"

[notify]
url = "https://hooks.example/services/T00/B00/XXX"
headers = {X-Key = "h34der"}
"""


def test_every_secret_of_the_settings_is_hidden_and_ordinary_words_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalog.toml").write_text(_CATALOG, encoding="utf-8")
    monkeypatch.setenv("TOKEN", "t0ken-of-source")
    monkeypatch.setenv("PATH_KEY", "p4th-key")
    settings = load(tmp_path, environment={"OPENAI_API_KEY": "sk-environment"})
    run = CurrentRun("office", 1, secrets_of(settings))
    for secret in ("pa55word", "p4th-key", "qu3ry", "t0ken-of-source", "sk-environment", "/T00/B00/XXX", "h34der"):
        assert secret not in run.redact(f"it said: {secret if '/' not in secret else f'/services{secret}'}."), secret
    assert run.redact("Bearer of tools.example and hooks.example") == "Bearer of tools.example and hooks.example"
