"""Fixtures of the sources: a web server on loopback."""

from collections.abc import Iterator

import pytest

from tests.pipeline.sources.web import Web, serving


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    with serving() as web:
        yield web
