"""Fixtures of the tests that ask models."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_certificates(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers on loopback speak plain HTTP: reading the machine's certificates takes each client 50 ms."""
    nowhere: Path = tmp_path_factory.getbasetemp()
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(nowhere))
