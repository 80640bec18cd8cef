"""One Prefect server for all flows under test, with a database of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from flows.engine.runtime import configure_prefect
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


def _is_healthy(url: str) -> bool:
    try:
        with urlopen(f"{url}/health", timeout=5) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a temporary server's API."""
    before = dict(os.environ)
    configure_prefect(at_terminal=True)
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    from flows.engine.reporting import drop_events

    home = tmp_path_factory.mktemp("server")  # it makes its tables itself: by a command of their own they cost twice
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    idle = {f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false" for service in _IDLE}
    environment = {**os.environ, **idle, "PREFECT_HOME": str(home)}
    url = f"http://127.0.0.1:{port}/api"
    process = subprocess.Popen([*_COMMAND, f"--port={port}"], env=environment, cwd=home)
    try:
        assert until(lambda: process.poll() is not None or _is_healthy(url), 150) and process.poll() is None
        # A flow that beats waits for its next second before it ends.
        with temporary_settings({PREFECT_API_URL: url, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            yield url
            drop_events()
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for variable in set(os.environ) - set(before):
        del os.environ[variable]
