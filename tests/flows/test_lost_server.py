"""A Prefect server that is lost, restarts, fails or hangs in the middle: a build that was paid for is kept."""

from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.engine.dead_runs import close_dead_runs
from pipeline.errors import RunAborted
from quartermaster.cli.main import app
from router import Router
from tests.flows.server import at_stage, behind_a_door, last_run, state_of
from tests.support.proxy import Mode, Proxy

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("prefect_server"), pytest.mark.timeout(180)]


@pytest.fixture
def proxy(prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The server of this process, behind a door."""
    with behind_a_door(prefect_server, monkeypatch) as proxy:
        yield proxy


def run_build(catalog: Path, workspace: Path) -> Any:
    """`quartermaster build --flow` in this process."""
    return CliRunner().invoke(
        app, ["build", str(catalog), "--workspace", str(workspace), "--encoder", "none", "--flow", "--json"]
    )


@pytest.mark.parametrize(("stage", "mode"), [("read", "gone"), ("index", "hangs")])
def test_a_build_whose_server_is_lost_publishes_and_says_so(
    stage: str, mode: Mode, proxy: Proxy, catalog_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_stage(stage, lambda: proxy.switch(mode), monkeypatch)
    done = run_build(catalog_folder, tmp_path / "ws")
    assert done.exit_code == 0, done.output
    assert '"outcome": "published"' in done.stdout
    assert "the Prefect server could not be told how the build ended" in done.stderr
    assert len(Router.open(tmp_path / "ws" / "snapshots" / "office")) == 8
    # The next run of the workspace, or `schedule`, tells the server.
    proxy.switch("open")
    run = last_run()
    assert run.state is not None and run.state.name == "Running"
    close_dead_runs(tmp_path / "ws")
    state = state_of(run.id)
    assert state.name == "Completed" and (state.message or "").startswith("published: ")


def test_a_server_that_restarts_is_told(
    proxy: Proxy, catalog_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_FLOW__SERVER_WAIT_S", "60")

    def restart() -> None:
        proxy.switch("gone")
        Timer(2.0, proxy.switch, ["open"]).start()

    at_stage("publish", restart, monkeypatch)
    done = run_build(catalog_folder, tmp_path / "ws")
    assert (done.exit_code, done.stderr.count("could not be told")) == (0, 0), done.output
    run = last_run()
    assert run.state is not None and run.state.name == "Completed"


def test_a_server_that_is_lost_before_the_build_begins_stops_it(
    proxy: Proxy, catalog_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.engine.runtime.check_server", lambda: proxy.switch("gone"))
    done = run_build(catalog_folder, tmp_path / "ws")
    assert isinstance(done.exception, RunAborted)
    assert "the Prefect server stopped before the build began" in str(done.exception)
    assert not (tmp_path / "ws" / "snapshots").exists()


def test_a_build_that_fails_without_its_server_fails_for_its_own_reason(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalog.toml").write_text('[[source]]\npath = "gone.json"\n', encoding="utf-8")
    at_stage("read", lambda: proxy.switch("gone"), monkeypatch)
    done = run_build(tmp_path, tmp_path / "ws")
    assert isinstance(done.exception, RunAborted) and "gone.json does not exist" in str(done.exception)
