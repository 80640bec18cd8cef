"""A reader's folder: the catalogs, a file of their own, and the demo as it was built."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.once import made_once
from tests.support.places import ROOT
from tests.support.small_encoder import vector_settings


@pytest.fixture(scope="session")
def demo_workspace(encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of the demo, with a small encoder: the real one takes most of a minute. To be copied."""
    from pipeline.build import build
    from pipeline.settings import load

    settings = load(ROOT / "catalogs" / "demo", {"vectors": vector_settings(encoder_folder)}, environment={})
    return made_once(tmp_path_factory, "demo", lambda folder: build(settings, workspace=folder))


@pytest.fixture
def reader(demo_workspace: Path, tmp_path: Path) -> Path:
    """A folder where a page's blocks run one after the other. Snapshots are links, since nothing changes them."""
    folder = tmp_path / "reader"
    shutil.copytree(demo_workspace, folder / ".quartermaster", copy_function=_link_snapshots)
    (folder / "catalogs").symlink_to(ROOT / "catalogs")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "openapi.yaml").symlink_to(ROOT / "catalogs" / "demo" / "payments.openapi.yaml")
    return folder


def _link_snapshots(source: str, target: str) -> None:
    if "/snapshots/" in source and Path(source).name != "CURRENT":
        os.link(source, target)
    else:
        shutil.copy2(source, target)
