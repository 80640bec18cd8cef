"""A server of an API on loopback, which keeps what it receives."""

from collections.abc import Iterator

import pytest

from tests.support.api_server import ApiServer, api_server


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server
