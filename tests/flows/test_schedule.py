"""The nightly schedule, and the deployment to a work pool, against a real server."""

import gc
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from inspect import signature
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen
from zoneinfo import ZoneInfo

import pytest
import yaml
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments import run_deployment
from prefect.testing.cli import invoke_and_assert
from typer.testing import CliRunner

from flows.build_catalog import build_catalog
from flows.cli.main import app
from flows.engine.runtime import check_server
from flows.schedule import next_runs, server
from pipeline.errors import RunAborted, SettingsInvalid
from router import Router
from tests.support.documents import commands
from tests.support.places import ROOT

pytestmark = pytest.mark.usefixtures("prefect_server")


def until_deployed(name: str) -> str:
    """The name of a deployment, as soon as the server has it."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with get_client(sync_client=True) as client:
            if any(f"build-catalog/{deployment.name}" == name for deployment in client.read_deployments()):
                return name
        time.sleep(0.2)
    raise AssertionError(f"{name} was never deployed")


def until_logged(run: FlowRun, message: str) -> None:
    """Wait until the server has a line of a run's log: they are sent in batches."""
    until = time.monotonic() + 30
    with get_client(sync_client=True) as client:
        wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run.id]))
        while message not in (found := [entry.message for entry in client.read_logs(wanted, limit=200)]):
            assert time.monotonic() < until, found
            time.sleep(0.2)


def test_a_schedule_says_when_it_runs_next() -> None:
    first, second = next_runs("0 2 * * *", "Asia/Tokyo", 2)
    assert re.fullmatch(r"\w{3} \d{4}-\d\d-\d\d 02:00 JST", first) and first != second


def test_a_server_of_our_own_answers_on_loopback_and_ends_with_its_block(
    prefect_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(shutil.copytree(prefect_home, tmp_path / "prefect")))
    with server(None) as url, urlopen(f"{url}/health", timeout=10) as response:
        assert response.status == 200 and url.startswith("http://127.0.0.1:")
    with pytest.raises(URLError):
        urlopen(f"{url}/health", timeout=10)


def test_a_server_that_does_not_answer_is_one_sentence() -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(RunAborted, match=r"the Prefect server http://127.0.0.1:9/api does not answer"),
    ):
        check_server()


@pytest.mark.parametrize(("cron", "timezone"), [("every night", "UTC"), ("0 25 * * *", "UTC"), ("0 2 * * *", "Mars")])
def test_a_wrong_schedule_is_refused_with_its_value(cron: str, timezone: str) -> None:
    with pytest.raises(SettingsInvalid, match=re.escape(repr(cron)) + ".*is not a schedule"):
        next_runs(cron, timezone)


@pytest.mark.parametrize(
    ("cron", "day", "times"),
    [
        # The clock jumps from 02:00 to 03:00: the run of that night is an hour early, just before the jump.
        ("30 2 * * *", datetime(2026, 3, 28, 12), ["Sun 2026-03-29 01:30 CET", "Mon 2026-03-30 02:30 CEST"]),
        # The hour from 02:00 to 03:00 comes twice: the first is taken.
        ("30 2 * * *", datetime(2026, 10, 24, 12), ["Sun 2026-10-25 02:30 CEST", "Mon 2026-10-26 02:30 CET"]),
        ("30 3 * * *", datetime(2026, 3, 28, 12), ["Sun 2026-03-29 03:30 CEST", "Mon 2026-03-30 03:30 CEST"]),
    ],
)
def test_a_nightly_build_runs_once_in_the_nights_that_change_the_clock(
    cron: str, day: datetime, times: list[str]
) -> None:
    zone = ZoneInfo("Europe/Berlin")
    assert next_runs(cron, zone.key, 2, day.replace(tzinfo=zone)) == times


@pytest.mark.parametrize("wrong", [("--max-cost", "-1"), ("--max-tools", "-2"), ("--generator", "nobody")])
def test_a_wrong_option_is_refused_before_the_schedule_begins(
    wrong: tuple[str, str], catalog_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.schedule.serve_nightly", lambda *_, **__: pytest.fail("it was served"))
    assert isinstance(CliRunner().invoke(app, ["schedule", str(catalog_folder), *wrong]).exception, SettingsInvalid)


def test_a_served_build_runs_when_its_time_comes_and_ends_with_its_process(
    prefect_server: str, catalog_folder: Path, tmp_path: Path
) -> None:
    # As docs/scheduling.md says it, for another catalog and without an encoder.
    (line,) = commands("schedule")
    command = shlex.split(line.replace("catalogs/demo", str(catalog_folder)))[1:]
    command += ["--workspace", str(tmp_path / "ws"), "--encoder", "none", "--no-evaluate"]
    command += ["--max-tools", "7", "--batch", "--skip-unreadable"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from flows.cli.main import main; main()", *command],
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
        # What a shell starts in the background ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stderr is not None
        assert "Building office at '0 2 * * *': next" in process.stderr.readline()
        for line in process.stderr:
            if line.strip() and "Stop: Ctrl-C" in line:
                break
        # Its time has come: the server is asked for a run now.
        run = run_deployment(until_deployed("build-catalog/office"), timeout=120, poll_interval=1)
        assert isinstance(run, FlowRun)
        assert run.state is not None and run.state.is_completed(), run.state
        assert len(Router.open(tmp_path / "ws" / "snapshots" / "office")) == 8
        chosen = {name: value for name, value in run.parameters.items() if value is not None}
        assert chosen == {
            "path": str(catalog_folder),
            "workspace": str(tmp_path / "ws"),
            "encoder": "none",
            "evaluate": False,
            "max_tools": 7,
            "mode": "batch",
            "skip_unreadable": True,
            "allow_commands": False,
            "no_commands": False,
        }
        until_logged(run, "publish started")
        with get_client(sync_client=True) as client:
            tasks = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])))
        assert {one.empirical_policy.retries for one in tasks} == {7}  # the environment reached the run
    finally:
        process.send_signal(signal.SIGINT)
        try:
            _, rest = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    assert process.returncode == 0 and "Traceback" not in rest


# Prefect's command line leaves its connections to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_prefect_yaml_deploys_to_a_work_pool_with_parameters_that_the_flows_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declared = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    nightly = next(d for d in declared["deployments"] if d["name"] == "nightly")
    assert set(nightly["parameters"]) <= set(signature(build_catalog.fn).parameters)
    monkeypatch.chdir(ROOT)
    # As docs/scheduling.md says it; the third starts a worker, which runs until it is stopped.
    for line in commands("prefect")[:2]:
        invoke_and_assert(shlex.split(line)[1:], expected_code=0)
    gc.collect()
    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name("build-catalog/nightly")
    (scheduled,) = deployment.schedules
    assert isinstance(scheduled.schedule, CronSchedule) and scheduled.schedule.cron == "0 2 * * *"
    assert deployment.work_pool_name == "quartermaster"
