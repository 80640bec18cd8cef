"""Workspaces with a ledger, to be copied: making its tables takes as long as a test."""

import shutil
from pathlib import Path

import pytest

from pipeline.ledger import Ledger
from tests.pipeline.ledger.ledgers import fill


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a ledger of no rows."""
    workspace = tmp_path_factory.mktemp("empty")
    with Ledger.open(workspace):
        pass
    return workspace


@pytest.fixture
def begun(empty: Path, tmp_path: Path) -> None:
    """Let the test's folder be a copy of it."""
    shutil.copytree(empty, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a ledger of the answers "a" and "b". To be copied."""
    workspace = tmp_path_factory.mktemp("filled")
    fill(workspace, "a", "b")
    return workspace


@pytest.fixture
def workspace(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(filled, tmp_path / "ws")
