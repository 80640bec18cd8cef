"""Builds whose end is told: to a real hook, in a file of metrics, however they end."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.build import build, failures_announced
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.failure import attached
from pipeline.ledger import Ledger
from pipeline.settings import load
from tests.pipeline.build.six_files import SIX, spoil
from tests.pipeline.monitoring.receiver import Receiver, receiver
from tests.support.command_line import called
from tests.support.places import ROOT
from tests.support.waiting import until


@pytest.fixture(scope="module")
def hook() -> Iterator[Receiver]:
    """The hook's server."""
    with receiver() as running:
        yield running


@pytest.fixture
def server(hook: Receiver) -> Receiver:
    """It again, before it is told anything."""
    hook.posted.clear()
    hook.status = 200
    return hook


@pytest.fixture
def folder(folder: Path, server: Receiver) -> Path:
    """The catalog of six files after its first night, with a hook and metrics."""
    sources = "".join(f'[[source]]\npath = "{name}.json"\n' for name in (*SIX, "later"))
    settings = f"""{sources}
        [sources]
        skip_unreadable = true
        max_age = 0
        [vectors]
        encoder = "none"
        [tuning]
        calibrate = false
        [ledger]
        backups = 0
        [notify]
        url = "{server.url}"
        [metrics]
        textfile = "../metrics.prom"
    """
    (folder / "catalog.toml").write_text(settings, encoding="utf-8")
    return folder


def run(folder: Path, **arguments: Any) -> Any:
    """Build the catalog."""
    return build(load(folder, environment={}), workspace=folder.parent / "ws", **arguments)


def metrics(folder: Path) -> dict[str, float]:
    """The metrics without labels, and the outcome."""
    families = text_string_to_metric_families((folder.parent / "metrics.prom").read_text(encoding="utf-8"))
    samples = [sample for family in families for sample in family.samples]
    found = {s.name.removeprefix("quartermaster_build_"): s.value for s in samples if list(s.labels) == ["catalog"]}
    return found | {f"is_{s.labels['outcome']}": s.value for s in samples if "outcome" in s.labels}


def test_each_bad_night_is_told_and_the_first_good_one_after_it(
    folder: Path, server: Receiver, six_files: Path
) -> None:
    began = time.time()
    spoil(folder, "mail", "chat", "files")
    report = run(folder)
    assert any("42.9% of the sources were skipped" in reason for reason in report.held)
    assert any("50.0% of the serving tools came from skipped sources" in reason for reason in report.held)
    assert [posted.json()["events"] for posted in server.posted] == [["held", "stale", "degraded"]]
    assert metrics(folder)["last_success_timestamp_seconds"] < began
    spoil(folder, *SIX)
    with pytest.raises(RunAborted) as stopped, failures_announced(folder):
        run(folder)
    run_of_error = attached(stopped.value)  # so that it is told once
    assert run_of_error is not None and run_of_error.identity() == {"catalog": "office", "run": 3}
    _, posted = server.posted
    told = posted.json()
    assert (told["event"], told["exit_code"], told["previous"], told["catalog"]) == ("failed", 3, "held", "office")
    assert told["cost_usd"] == metrics(folder)["cost_usd"] == 0  # known, though it failed
    assert metrics(folder)["is_failed"] == metrics(folder)["exit_code"] - 2 == 1
    assert metrics(folder)["last_success_timestamp_seconds"] < began
    shutil.copytree(six_files / "office", folder, dirs_exist_ok=True)
    run(folder)
    assert [posted.json()["events"] for posted in server.posted[2:]] == [["recovered"]]


def test_an_unchanged_night_that_a_gate_would_hold_is_told_and_is_no_success(folder: Path, server: Receiver) -> None:
    began = time.time()
    tools = json.loads((folder / "mail.json").read_text(encoding="utf-8"))
    (folder / "mail.json").write_text(json.dumps([*tools, {"name": 7}, {"name": 8}]), encoding="utf-8")
    with (folder / "catalog.toml").open("a", encoding="utf-8") as settings:
        settings.write("[publish]\nmax_rejected_share = 0.1\n")
    report = run(folder)
    assert (report.outcome, len(report.held)) == ("unchanged", 1)
    assert [posted.json()["event"] for posted in server.posted] == ["held"]
    assert metrics(folder)["last_success_timestamp_seconds"] < began


def test_a_ledger_that_another_build_holds_is_told(folder: Path, server: Receiver) -> None:
    with Ledger.open(folder.parent / "ws"), pytest.raises(RunAborted, match="in use by another build"):
        run(folder)
    (posted,) = server.posted
    assert posted.json()["run"] is None and "in use" in posted.json()["reasons"][0]


def test_settings_that_cannot_be_loaded_are_told_as_far_as_the_hook_is_known(
    folder: Path, server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[str]:
        server.posted.clear()
        with pytest.raises(SettingsInvalid), failures_announced(folder):
            load(folder)
        return [reason for posted in server.posted for reason in posted.json()["reasons"]]

    good = (folder / "catalog.toml").read_text(encoding="utf-8")
    (folder / "catalog.toml").write_text(good + "\n[publish]\nkeep = 0\n", encoding="utf-8")
    assert "publish.keep" in told()[0]
    (folder / "catalog.toml").write_text(good + "\n[broken", encoding="utf-8")
    assert told() == []
    monkeypatch.setenv("QUARTERMASTER_NOTIFY__URL", server.url)
    assert "cannot be read" in told()[0]


@pytest.mark.parametrize("harm", ["settings", "workspace"])
def test_a_failure_that_never_reached_the_ledger_ends_with_recovered(folder: Path, server: Receiver, harm: str) -> None:
    workspace, harmed = folder.parent / "ws", folder.parent / "away"
    catalog = folder / "catalog.toml"
    good = catalog.read_text(encoding="utf-8")
    if harm == "settings":
        catalog.write_text(good + "\n[publish]\nkeep = 0\n", encoding="utf-8")
    else:  # as a mount that is gone: nobody can write into a file, not even root
        workspace.rename(harmed)
        workspace.touch()
    with pytest.raises(SettingsInvalid), failures_announced(folder, workspace):
        run(folder)
    catalog.write_text(good, encoding="utf-8")
    if harmed.exists():
        workspace.unlink()
        harmed.rename(workspace)
    for _ in range(2):
        run(folder)
    assert [posted.json()["events"] for posted in server.posted] == [["failed"], ["recovered"]]
    assert [posted.json()["previous"] for posted in server.posted] == [None, "published"]


def test_an_experiment_is_not_told(folder: Path, server: Receiver) -> None:
    spoil(folder, *SIX)
    with pytest.raises(RunAborted):
        run(folder, area="evaluations")
    assert server.posted == [] and not (folder.parent / "metrics.prom").exists()


def test_a_hook_that_fails_leaves_outcome_and_exit_code_of_a_degraded_night_as_they_are(
    folder: Path, server: Receiver
) -> None:
    began = time.time()
    server.status = 500
    spoil(folder, "mail")
    build_it = ("build", folder, "--workspace", folder.parent / "ws")
    assert called(folder.parent, *build_it, "--plan").returncode == 0
    assert server.posted == []  # a plan tells nobody
    done = called(folder.parent, *build_it, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["outcome"] == "published"
    assert "WARNING the hook failed: notify.url at 127.0.0.1 answered 500" in done.stderr
    assert "WARNING degraded: 1 source could not be read: mail.json" in done.stderr
    told = server.posted[0].json()
    assert (told["events"], told["stale_sources"]) == (["stale", "degraded"], ["mail.json"])
    now = metrics(folder)
    assert now["is_published"] == 1 and now["snapshot_bytes"] > 10_000
    assert now["last_success_timestamp_seconds"] > began


@pytest.mark.parametrize(
    ("number", "times", "code", "kind"),
    [
        pytest.param(signal.SIGTERM, 1, 143, "terminated", id="SIGTERM"),
        pytest.param(signal.SIGINT, 2, 130, "interrupted", id="SIGINT twice"),  # while the hook is called
    ],
)
def test_a_build_that_is_ended_by_signals_is_told_once_and_prints_its_object(
    folder: Path, server: Receiver, tmp_path: Path, number: signal.Signals, times: int, code: int, kind: str
) -> None:
    # A command source that never ends: the file says that the build is in the middle of its reading.
    began = tmp_path / "began"
    command = ["sh", "-c", f"touch {shlex.quote(str(began))}; exec sleep 60"]
    settings = (folder / "catalog.toml").read_text(encoding="utf-8")
    source = f'[[source]]\nformat = "function"\ncommand = {json.dumps(command)}\n'
    (folder / "catalog.toml").write_text(source + settings, encoding="utf-8")
    line = ["build", str(folder), "--json", "--allow-commands", "--workspace", str(folder.parent / "ws")]
    process = subprocess.Popen(
        [sys.executable, "-m", "quartermaster", *line],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        if times > 1:
            server.answers.clear()
        assert until(lambda: began.exists() or process.poll() is not None, 120)
        process.send_signal(number)
        if times > 1:
            assert until(lambda: bool(server.posted), 60)
            process.send_signal(number)
        output, errors = process.communicate(timeout=150)
    finally:
        server.answers.set()
        process.kill()
    assert process.returncode == code, errors
    said = json.loads(output)
    assert (said["outcome"], said["run"], said["error"]["kind"]) == ("failed", 2, kind)
    (posted,) = server.posted
    assert (posted.json()["event"], posted.json()["exit_code"]) == ("failed", code)
    assert metrics(folder)["exit_code"] == code


@pytest.mark.nightly
def test_a_run_of_a_version_before_and_what_was_lost_with_a_ledger_are_told(folder: Path, server: Receiver) -> None:
    with Ledger.open(folder.parent / "ws") as ledger:
        ledger.execute("UPDATE runs SET counts = NULL, area = NULL, outcome = 'failed'")
    run(folder)
    assert [posted.json()["event"] for posted in server.posted] == ["recovered"]
    (folder.parent / "ws" / "ledger.duckdb").unlink()
    spoil(folder, *SIX)
    with pytest.raises(RunAborted):
        run(folder)
    told = server.posted[-1].json()
    assert told["events"] == ["failed", "degraded"] and "is missing, and a new one was begun" in told["reasons"][1]
