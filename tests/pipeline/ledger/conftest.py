"""Workspaces with a ledger, to be copied: making its tables takes as long as a test."""

import shutil
from pathlib import Path

import pytest

from pipeline.settings import LedgerSettings
from tests.pipeline.ledger.ledgers import begin, fill


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a ledger of the answers "a" and "b"."""
    workspace = tmp_path_factory.mktemp("filled")
    fill(workspace, "a", "b")
    return workspace


@pytest.fixture(scope="session")
def with_backup(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, after the build of run 2 has backed it up and was killed."""
    whole = shutil.copytree(filled, tmp_path_factory.mktemp("whole") / "ws")
    begin(whole, LedgerSettings())
    return whole


@pytest.fixture
def workspace(filled: Path, tmp_path: Path) -> Path:
    """A copy of the first."""
    return shutil.copytree(filled, tmp_path / "ws")


@pytest.fixture
def whole(with_backup: Path, tmp_path: Path) -> Path:
    """A copy of the second, to be damaged."""
    return shutil.copytree(with_backup, tmp_path / "whole")
