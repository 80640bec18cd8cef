"""Builds whose end is told: to a real hook, in a file of metrics, however they end."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.build import build, failures_announced
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.failure import attached
from pipeline.ledger import Ledger
from pipeline.settings import load
from router.store import SnapshotStore
from tests.pipeline.monitoring.receiver import Receiver, receiver
from tests.support.command_line import called
from tests.support.places import ROOT

NAMES = ("mail", "files", "chat", "notes", "tickets", "calendar")


@pytest.fixture
def server() -> Iterator[Receiver]:
    """The hook's server."""
    with receiver() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, server: Receiver) -> Path:
    """A catalog of six files with two tools each, its hook and its metrics."""
    folder = tmp_path / "office"
    folder.mkdir()
    for name in NAMES:
        tools = [{"name": f"{verb}_{name}", "description": f"{verb} {name}."} for verb in ("read", "send")]
        (folder / f"{name}.json").write_text(json.dumps(tools), encoding="utf-8")
    sources = "".join(f'[[source]]\npath = "{name}.json"\n' for name in NAMES)
    rest = f"""
        [sources]
        skip_unreadable = true
        max_age = 0
        [enrichment]
        generator = "lexicon"
        [vectors]
        encoder = "none"
        [tuning]
        calibrate = false
        [notify]
        url = "{server.url}"
        [metrics]
        textfile = "metrics.prom"
    """
    (folder / "catalog.toml").write_text(sources + rest, encoding="utf-8")
    return folder


def run(folder: Path, **arguments: Any) -> Any:
    """Build the catalog."""
    return build(load(folder, environment={}), workspace=folder.parent / "ws", **arguments)


def metrics(folder: Path) -> dict[str, float]:
    """The metrics without labels, and the outcome."""
    families = text_string_to_metric_families((folder / "metrics.prom").read_text(encoding="utf-8"))
    samples = [sample for family in families for sample in family.samples]
    found = {s.name.removeprefix("quartermaster_build_"): s.value for s in samples if list(s.labels) == ["catalog"]}
    return found | {f"is_{s.labels['outcome']}": s.value for s in samples if "outcome" in s.labels}


def test_each_bad_night_is_told_and_the_first_good_one_after_it(folder: Path, server: Receiver) -> None:
    def night() -> list[list[str]]:
        server.posted.clear()
        with suppress(RunAborted):
            run(folder)
        return [posted.json()["events"] for posted in server.posted]

    def broken(*names: str) -> None:
        for name in NAMES:
            file = folder / f"{name}.json"
            file.write_text(file.read_text(encoding="utf-8").lstrip("{"), encoding="utf-8")
            if name in names:
                file.write_text("{" + file.read_text(encoding="utf-8"), encoding="utf-8")

    def succeeded() -> float:
        return metrics(folder)["last_success_timestamp_seconds"]

    assert night() == []
    assert metrics(folder)["is_published"] == 1 and metrics(folder)["snapshot_bytes"] > 10_000
    success = succeeded()
    broken("mail")
    assert night() == [["stale", "degraded"]]
    assert server.posted[0].json()["stale_sources"] == ["mail.json"] and succeeded() > success
    success = succeeded()
    broken("mail", "chat", "files")
    assert night() == [["held", "stale", "degraded"]]
    assert succeeded() <= success  # held is no success; the ledger knows the end of the run, just before
    broken(*NAMES)
    with pytest.raises(RunAborted) as stopped, failures_announced(folder):
        server.posted.clear()
        run(folder)
    run_of_error = attached(stopped.value)  # so that it is told once
    assert run_of_error is not None and run_of_error.identity() == {"catalog": "office", "run": 4}
    (posted,) = server.posted
    told = posted.json()
    assert (told["event"], told["exit_code"], told["previous"], told["catalog"]) == ("failed", 3, "held", "office")
    assert metrics(folder)["is_failed"] == metrics(folder)["exit_code"] - 2 == 1 and succeeded() <= success
    broken()
    assert night() == [["recovered"]]


def test_an_unchanged_night_that_a_gate_would_hold_is_told_and_is_no_success(folder: Path, server: Receiver) -> None:
    (folder / "mail.json").write_text('[{"name": 7}, {"name": 8}]', encoding="utf-8")
    with (folder / "catalog.toml").open("a", encoding="utf-8") as settings:
        settings.write("[publish]\nmax_rejected_share = 0.1\n")
    for _ in range(2):
        report = run(folder)
        SnapshotStore(folder.parent / "ws", "office").publish(report.snapshot.name)  # an operator lets it serve
    assert (report.outcome, len(report.held)) == ("unchanged", 1)
    assert [posted.json()["event"] for posted in server.posted] == ["held", "held"]
    assert "last_success_timestamp_seconds" not in metrics(folder)


def test_a_ledger_that_another_build_holds_is_told(folder: Path, server: Receiver) -> None:
    with Ledger.open(folder.parent / "ws"), pytest.raises(RunAborted, match="in use"):
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


def test_an_experiment_is_not_told(folder: Path, server: Receiver) -> None:
    (folder / "mail.json").write_text("{bad", encoding="utf-8")
    run(folder, area="evaluations")
    assert server.posted == [] and not (folder / "metrics.prom").exists()


def test_a_hook_that_fails_leaves_outcome_and_exit_code_as_they_are(folder: Path, server: Receiver) -> None:
    server.status = 500
    (folder / "mail.json").write_text("{bad", encoding="utf-8")
    assert called(folder.parent, "build", folder, "--plan").returncode == 0
    assert server.posted == []  # a plan tells nobody
    done = called(folder.parent, "build", folder, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["outcome"] == "published"
    assert "WARNING the hook failed: notify.url at 127.0.0.1 answered 500" in done.stderr
    assert "WARNING degraded: 1 source could not be read: mail.json" in done.stderr


def test_a_build_that_is_ended_by_sigterm_is_told(folder: Path, server: Receiver, tmp_path: Path) -> None:
    # A command source that never ends: the file says that the build is in the middle of its reading.
    began = tmp_path / "began"
    command = ["sh", "-c", f"touch {shlex.quote(str(began))}; exec sleep 60"]
    settings = (folder / "catalog.toml").read_text(encoding="utf-8")
    source = f'[[source]]\nformat = "function"\ncommand = {json.dumps(command)}\n'
    (folder / "catalog.toml").write_text(source + settings, encoding="utf-8")
    line = ["build", str(folder), "--json", "--allow-commands", "--workspace", str(tmp_path / "ws")]
    process = subprocess.Popen(
        [sys.executable, "-m", "quartermaster", *line],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 30
        while not began.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 143, errors
    said = json.loads(output)
    assert (said["outcome"], said["run"], said["error"]["kind"]) == ("failed", 1, "terminated")
    (posted,) = server.posted
    assert (posted.json()["event"], posted.json()["exit_code"]) == ("failed", 143)
    assert metrics(folder)["exit_code"] == 143


def test_the_command_line_prints_one_json_object_for_a_build_that_failed(folder: Path) -> None:
    for name in NAMES:
        (folder / f"{name}.json").unlink()
    done = called(folder.parent, "build", folder, "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["catalog"], said["run"], said["outcome"]) == (3, "office", 1, "failed")
    assert said["error"] | {"message": ""} == {"kind": "run_aborted", "message": "", "exit_code": 3}
    assert "mail.json" in said["error"]["message"]


@pytest.mark.nightly
def test_a_run_of_a_version_before_and_what_was_lost_of_a_restored_ledger_are_told(
    folder: Path, server: Receiver
) -> None:
    run(folder)
    with Ledger.open(folder.parent / "ws") as ledger:
        ledger._connection.execute("UPDATE runs SET counts = NULL, area = NULL, outcome = 'failed'")
    run(folder)
    assert [posted.json()["event"] for posted in server.posted] == ["recovered"]
    (folder.parent / "ws" / "ledger.duckdb").unlink()
    for name in NAMES:
        (folder / f"{name}.json").unlink()
    with pytest.raises(RunAborted):
        run(folder)
    told = server.posted[-1].json()
    assert told["events"] == ["failed", "degraded"] and "was missing; it was restored" in told["reasons"][1]
