"""One Prefect server for all flows under test, with a database of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from flows.runtime import configure_prefect
from tests.support.ports import kept_port
from tests.support.waiting import until

# As the CLI starts it; without the CLI, which would take 2 s of CPU to import.
_COMMAND = [
    sys.executable,
    "-m",
    "uvicorn",
    "--factory",
    "prefect.server.api.server:create_app",
    "--log-level=critical",
]
# What the server does by itself and no test needs: it looks at its database for ever. Tasks are recorded.
_IDLE = "CANCELLATION_CLEANUP EVENT_LOGGER FOREMAN LATE_RUNS PAUSE_EXPIRATIONS REPOSSESSOR SCHEDULER TRIGGERS".split()


_RUNNING = pytest.StashKey[ExitStack]()
_ROOM = Path(__file__).parent


def _is_healthy(url: str) -> bool:
    try:
        with urlopen(f"{url}/health", timeout=5) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> str:
    """The address of a temporary server's API."""
    running = request.config.stash[_RUNNING] = ExitStack()
    request.addfinalizer(running.close)
    home = tmp_path_factory.mktemp("server") / "prefect"
    if hasattr(request.config, "cache"):
        shutil.copytree(request.getfixturevalue("prefect_home"), home)
    else:  # nothing is kept: the server makes its tables, and no other process imports Prefect for that
        home.mkdir()
    return running.enter_context(_server(home, running.enter_context(kept_port())))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """End the server after the last test of these rooms, which run first: idle it would take CPU until the run ends."""
    yield
    if _RUNNING in item.config.stash and (nextitem is None or nextitem.path.parent != _ROOM):
        item.config.stash[_RUNNING].close()


@contextmanager
def _server(home: Path, port: int) -> Iterator[str]:
    """Run a server over a folder with a database at a port, and let Prefect's settings name it."""
    before = dict(os.environ)
    configure_prefect(at_terminal=True)
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    idle = {f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false" for service in _IDLE}
    environment = {**os.environ, **idle, "PREFECT_HOME": str(home)}
    url = f"http://127.0.0.1:{port}/api"
    process = subprocess.Popen([*_COMMAND, f"--port={port}"], env=environment, cwd=home)
    try:
        assert until(lambda: process.poll() is not None or _is_healthy(url), 150) and process.poll() is None
        # A flow that beats waits for its next second before it ends.
        with temporary_settings({PREFECT_API_URL: url, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            yield url
            for worker in (EventsWorker, APILogWorker):  # later they would try for ten seconds to reach it
                worker.drain_all(timeout=20)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for variable in set(os.environ) - set(before):
        del os.environ[variable]
