"""One Prefect server for all flows under test, with a database of its own."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.engine.runtime import configure_prefect


@pytest.fixture(scope="session")
def prefect_server(prefect_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a temporary server's API."""
    before = dict(os.environ)
    configure_prefect(at_terminal=True)
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
    from prefect.testing import utilities

    folder = tmp_path_factory.mktemp("server")
    shutil.copy(prefect_home / "prefect.db", folder / "prefect-test.db")
    # A flow that beats waits for its next second before it ends.
    with pytest.MonkeyPatch.context() as patch, temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        # Where the harness makes its database: there is one already, with its tables.
        patch.setattr(utilities, "mkdtemp", lambda: str(folder))
        with utilities.prefect_test_harness(server_startup_timeout=180):
            yield str(PREFECT_API_URL.value())
    for variable in set(os.environ) - set(before):
        del os.environ[variable]
