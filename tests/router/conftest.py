"""Fixtures of the router's tests: the default encoder, small."""

from pathlib import Path

import pytest

from pipeline.encoders.export import PACKAGED
from tests.support.small_delta import save_small_delta
from tests.support.small_encoder import save


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model in the place of the packaged one, a delta over it as the default, and a cache of the test's own."""
    folder = save(tmp_path / "model", pooling="mean")
    delta = save_small_delta(tmp_path / "delta", folder, name=PACKAGED)
    monkeypatch.setattr("pipeline.encoders.default_encoder.packaged_folder", lambda: folder)
    monkeypatch.setattr("pipeline.encoders.export.model.packaged_folder", lambda: folder)
    monkeypatch.setattr("pipeline.encoders.default_encoder.tools_folder", lambda: delta)
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path / "cache"))
    return folder
