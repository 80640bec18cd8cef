"""The nightly schedule, and the deployment to a work pool, against a real server."""

import gc
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from datetime import datetime
from inspect import signature
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen
from zoneinfo import ZoneInfo

import pytest
import yaml
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments import run_deployment
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.testing.cli import invoke_and_assert
from typer.testing import CliRunner

from flows.build_catalog import build_catalog
from flows.runtime import server
from flows.schedule import next_runs
from pipeline.errors import RunAborted, SettingsInvalid
from quartermaster.cli.main import app
from router import Router
from tests.flows.server import ask, logs_of, tasks_of
from tests.support.documents import commands
from tests.support.places import ROOT
from tests.support.waiting import until


@pytest.mark.nightly
def test_a_server_of_our_own_answers_on_loopback_and_ends_with_its_block(
    prefect_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(shutil.copytree(prefect_home, tmp_path / "prefect")))
    with temporary_settings({PREFECT_API_URL: None}), server() as url, urlopen(f"{url}/health", timeout=10) as response:
        assert response.status == 200 and url.startswith("http://127.0.0.1:")
    with pytest.raises(URLError):
        urlopen(f"{url}/health", timeout=10)


def test_a_server_that_does_not_answer_is_one_sentence() -> None:
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(RunAborted, match=r"the Prefect server http://127.0.0.1:9/api does not answer"),
        server(),
    ):
        pass


@pytest.mark.parametrize(("cron", "timezone"), [("every night", "UTC"), ("0 25 * * *", "UTC"), ("0 2 * * *", "Mars")])
def test_a_wrong_schedule_is_refused_with_its_value(cron: str, timezone: str) -> None:
    with pytest.raises(SettingsInvalid, match=re.escape(repr(cron)) + ".*is not a schedule"):
        next_runs(cron, timezone)


@pytest.mark.parametrize(
    ("cron", "zone", "day", "times"),
    [
        ("0 2 * * *", "Asia/Tokyo", (5, 1), ["Sat 2026-05-02 02:00 JST", "Sun 2026-05-03 02:00 JST"]),
        # The clock jumps from 02:00 to 03:00: the run of that night is an hour early, just before the jump.
        ("30 2 * * *", "Europe/Berlin", (3, 28), ["Sun 2026-03-29 01:30 CET", "Mon 2026-03-30 02:30 CEST"]),
        # The hour from 02:00 to 03:00 comes twice: the first is taken.
        ("30 2 * * *", "Europe/Berlin", (10, 24), ["Sun 2026-10-25 02:30 CEST", "Mon 2026-10-26 02:30 CET"]),
        ("30 3 * * *", "Europe/Berlin", (3, 28), ["Sun 2026-03-29 03:30 CEST", "Mon 2026-03-30 03:30 CEST"]),
    ],
)
def test_a_build_runs_once_a_night_by_the_clock_of_its_zone_also_when_it_changes(
    cron: str, zone: str, day: tuple[int, int], times: list[str]
) -> None:
    assert next_runs(cron, zone, 2, datetime(2026, *day, 12, tzinfo=ZoneInfo(zone))) == times


@pytest.mark.parametrize("wrong", [("--max-cost", "-1"), ("--max-tools", "-2"), ("--generator", "nobody")])
def test_a_wrong_option_is_refused_before_the_schedule_begins(
    wrong: tuple[str, str], catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.schedule.serve_nightly", lambda *_, **__: pytest.fail("it was served"))
    assert isinstance(CliRunner().invoke(app, ["schedule", str(catalog_folder), *wrong]).exception, SettingsInvalid)


def test_a_schedule_is_served_with_the_options_of_its_command(
    catalog_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr("flows.schedule.serve_nightly", lambda *given, **named: served.append((given, named)))
    options = ["--workspace", str(tmp_path), "--cron", "0 3 * * *", "--timezone", "Asia/Tokyo", "--no-evaluate"]
    options += ["--encoder", "none", "--max-tools", "7", "--batch", "--skip-unreadable"]
    assert CliRunner().invoke(app, ["schedule", str(catalog_folder), *options]).exit_code == 0
    (((path, settings, workspace), named),) = served
    assert (path, settings.name, workspace) == (catalog_folder, "office", tmp_path)
    chosen = {"encoder": "none", "max_tools": 7, "mode": "batch", "skip_unreadable": True, "evaluate": False}
    chosen |= {"cron": "0 3 * * *", "timezone": "Asia/Tokyo", "allow_commands": False, "no_commands": False}
    given = {name: value for name, value in named.items() if value is not None and not callable(value)}
    assert given == chosen and given.keys() - {"cron", "timezone"} <= signature(build_catalog.fn).parameters.keys()


@pytest.mark.nightly
def test_a_served_build_runs_when_its_time_comes_and_ends_with_its_process(
    prefect_server: str, catalog_folder: Path, tmp_path: Path
) -> None:
    # As docs/scheduling.md says it, for another catalog and without an encoder.
    (line,) = commands("schedule")
    command = shlex.split(line.replace("catalogs/demo", str(catalog_folder)))[1:]
    command += ["--workspace", str(tmp_path / "ws"), "--encoder", "none", "--no-evaluate"]
    command += ["--max-tools", "7", "--batch", "--skip-unreadable"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from quartermaster.cli.main import main; main()", *command],
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "120",
            "PREFECT_HOME": str(tmp_path),
            "PREFECT_API_URL": prefect_server,
            "QUARTERMASTER_FLOW__RETRIES": "7",
            "PREFECT_RUNNER_POLL_FREQUENCY": "1",  # seconds between two looks at what is due; 10 by default
        },
        cwd=tmp_path,
    )
    try:
        assert process.stderr is not None
        assert "Building office at '0 2 * * *': next" in process.stderr.readline()
        assert any("Stop: Ctrl-C" in line for line in process.stderr)
        # Its time has come: the server is asked for a run now.
        with ask() as client:
            assert until(lambda: "office" in [deployment.name for deployment in client.read_deployments()], 60)
        run = run_deployment("build-catalog/office", timeout=120, poll_interval=1)
        assert isinstance(run, FlowRun)
        assert run.state is not None and run.state.is_completed(), run.state
        assert len(Router.open(tmp_path / "ws" / "snapshots" / "office")) == 8
        chosen = {"encoder": "none", "evaluate": False, "max_tools": 7, "mode": "batch", "skip_unreadable": True}
        chosen |= {"path": str(catalog_folder), "workspace": str(tmp_path / "ws")}
        chosen |= {"allow_commands": False, "no_commands": False}
        assert {name: value for name, value in run.parameters.items() if value is not None} == chosen
        assert logs_of(run.id, "publish started")
        assert {one.empirical_policy.retries for one in tasks_of(run.id)} == {7}  # the environment reached the run
    finally:
        process.send_signal(signal.SIGTERM)  # as service managers do
        try:
            _, rest = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    assert process.returncode == 0 and "Traceback" not in rest
    with ask() as client:
        left = client.read_deployment_by_name("build-catalog/office")
    assert not left.paused and [schedule.active for schedule in left.schedules] == [True]  # for another that serves it
    assert left.description and f"process {process.pid} on " in left.description


def test_prefect_yaml_names_parameters_that_the_flow_takes() -> None:
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    (nightly,) = [deployment for deployment in deployments if deployment["name"] == "nightly"]
    assert set(nightly["parameters"]) <= set(signature(build_catalog.fn).parameters)


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect_server")
# Prefect's command line leaves its connections to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_prefect_yaml_deploys_to_a_work_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # As docs/scheduling.md says it; the third starts a worker, which runs until it is stopped.
    for line in commands("prefect")[:2]:
        invoke_and_assert(shlex.split(line)[1:], expected_code=0)
    gc.collect()
    with ask() as client:
        deployment = client.read_deployment_by_name("build-catalog/nightly")
    (scheduled,) = deployment.schedules
    assert isinstance(scheduled.schedule, CronSchedule) and scheduled.schedule.cron == "0 2 * * *"
    assert deployment.work_pool_name == "quartermaster"
