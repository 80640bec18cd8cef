"""A catalog moves from a plain encoder to a delta over it, and back."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.settings import load
from router import Router
from router.contract import Manifest
from tests.support.small_delta import save_small_delta

pytestmark = pytest.mark.nightly  # builds with several encoders


def run(catalog: Path, encoder: Path, workspace: Path) -> BuildReport:
    vectors = {"encoder": str(encoder), "precision": "fp32"}
    values: dict[str, dict[str, Any]] = {"vectors": vectors, "assessment": {"enabled": False}}
    return build(load(catalog, values, environment={}), workspace=workspace)


def test_a_catalog_is_embedded_once_by_a_delta_and_its_old_snapshots_and_vectors_stay(
    catalog_folder: Path, encoder_folder: Path, tmp_path: Path
) -> None:
    delta = save_small_delta(tmp_path / "ours", encoder_folder)
    plain = run(catalog_folder, encoder_folder, tmp_path / "ws")
    ours = run(catalog_folder, delta, tmp_path / "ws")
    assert ours.outcome == "published" and ours.embedded == plain.embedded > 0
    encoders = [Manifest.read(report.snapshot).encoder for report in (plain, ours)]
    assert [encoder.model for encoder in encoders if encoder] == ["small-random", "ours"]
    assert len({encoder.revision for encoder in encoders if encoder}) == 2
    again = run(catalog_folder, delta, tmp_path / "ws")
    assert (again.outcome, again.embedded) == ("unchanged", 0)
    back = run(catalog_folder, encoder_folder, tmp_path / "ws")
    assert back.embedded == 0 and Manifest.read(back.snapshot).encoder == encoders[0]
    shutil.rmtree(delta)  # a snapshot carries its encoder
    answers = [Router.open(report.snapshot).route("refund a charge", k=3) for report in (plain, ours, back)]
    scores = [[(tool.tool_id, tool.score) for tool in answer.tools] for answer in answers]
    assert scores[0] == scores[2] and all(scores)
