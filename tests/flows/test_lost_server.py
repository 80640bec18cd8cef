"""A Prefect server that is lost, restarts, fails or hangs in the middle: a build that was paid for is kept."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

import pytest
from prefect.settings import (
    PREFECT_API_REQUEST_TIMEOUT,
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    temporary_settings,
)
from typer.testing import CliRunner

from flows.cli.main import app
from flows.engine.dead_runs import close_dead_runs
from flows.engine.progress import FlowProgress
from flows.engine.reporting import drop_events
from pipeline.errors import RunAborted
from router import Router
from tests.flows.server import last_run, state_of
from tests.support.proxy import Mode, Proxy, proxied

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("prefect_server"), pytest.mark.timeout(180)]
When = Callable[[str, Callable[[], None]], None]


@pytest.fixture
def proxy(prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The server of this process, behind a door."""
    monkeypatch.setenv("QUARTERMASTER_FLOW__SERVER_WAIT_S", "0")
    port = urlsplit(prefect_server).port
    assert port
    with proxied(port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}/api"
        # By default Prefect tries again for a minute, also when this process ends.
        quick = {PREFECT_API_REQUEST_TIMEOUT: 1.0, PREFECT_CLIENT_MAX_RETRIES: 1}
        with temporary_settings({PREFECT_API_URL: url, **quick}):
            yield proxy
            proxy.switch("open")
            drop_events()


@pytest.fixture
def when(monkeypatch: pytest.MonkeyPatch) -> When:
    """Have something happen once, when a build comes to a stage."""

    def at(stage: str, happen: Callable[[], None]) -> None:
        started = FlowProgress.start
        happened: list[str] = []

        def start(self: FlowProgress, name: str, total: int | None = None) -> None:
            if name == stage and not happened:
                happened.append(name)
                happen()
            started(self, name, total)

        monkeypatch.setattr(FlowProgress, "start", start)

    return at


def run_build(catalog: Path, workspace: Path) -> Any:
    """`quartermaster build --flow` in this process."""
    return CliRunner().invoke(
        app, ["build", str(catalog), "--workspace", str(workspace), "--encoder", "none", "--flow", "--json"]
    )


@pytest.mark.parametrize(("stage", "mode"), [("read", "gone"), ("index", "hangs")])
def test_a_build_whose_server_is_lost_publishes_and_says_so(
    stage: str, mode: Mode, proxy: Proxy, when: When, catalog_folder: Path, tmp_path: Path
) -> None:
    when(stage, lambda: proxy.switch(mode))
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
    proxy: Proxy, when: When, catalog_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_FLOW__SERVER_WAIT_S", "60")

    def restart() -> None:
        proxy.switch("gone")
        Timer(2.0, proxy.switch, ["open"]).start()

    when("publish", restart)
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
    proxy: Proxy, when: When, tmp_path: Path
) -> None:
    (tmp_path / "catalog.toml").write_text('[[source]]\npath = "gone.json"\n', encoding="utf-8")
    when("read", lambda: proxy.switch("gone"))
    done = run_build(tmp_path, tmp_path / "ws")
    assert isinstance(done.exception, RunAborted) and "gone.json does not exist" in str(done.exception)
