"""One Prefect server for all flows under test, with a database of its own."""

import os
from collections.abc import Iterator

import pytest

from flows.engine import quiet


@pytest.fixture(scope="session", autouse=True)
def prefect_server() -> Iterator[str]:
    """The address of a temporary server's API."""
    before = dict(os.environ)
    quiet(at_terminal=True)
    from prefect.settings import PREFECT_API_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield str(PREFECT_API_URL.value())
    for variable in set(os.environ) - set(before):
        del os.environ[variable]
