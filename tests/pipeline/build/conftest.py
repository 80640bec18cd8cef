"""Catalogs that were built once, for the tests that begin with a later night."""

import shutil
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.settings import load
from tests.pipeline.build.six_files import SKIPPING, write
from tests.support.once import made_once
from tests.support.quick import QUICK


@pytest.fixture
def catalog(catalog_folder: Path, tmp_path: Path) -> Path:
    """A copy of the session's catalog, to be changed."""
    return shutil.copytree(catalog_folder, tmp_path / "office")


@pytest.fixture(scope="session")
def quick_workspace(catalog_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of that catalog, built without vectors. To be copied."""
    settings = load(catalog_folder, QUICK, environment={})
    return made_once(tmp_path_factory, "quick-workspace", lambda folder: build(settings, workspace=folder))


@pytest.fixture
def quick(quick_workspace: Path, tmp_path: Path) -> Path:
    """A copy of it, beside the copy of the catalog."""
    return shutil.copytree(quick_workspace, tmp_path / "ws")


@pytest.fixture(scope="session")
def six_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of six files, two tools each, and one that holds none, beside its workspace. To be copied."""

    def make(place: Path) -> None:
        report = build(load(write(place), SKIPPING, environment={}), workspace=place / "ws")
        assert (report.outcome, report.degraded) == ("published", ())

    return made_once(tmp_path_factory, "six-files", make)


@pytest.fixture
def folder(six_files: Path, tmp_path: Path) -> Path:
    """A copy of that catalog, beside a copy of its workspace."""
    return shutil.copytree(six_files, tmp_path / "place") / "office"
