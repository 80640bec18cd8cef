"""The calibration of the snapshot that serves is reused with its adapter, and background scores follow the catalog."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from pipeline.learning import ReusedCalibration, calibrate, reuse_calibration, update_calibration
from pipeline.learning.no_answer_calibration.background import background
from router.contract import EncoderManifest, Manifest
from router.retrieval.no_answer_calibration import Calibration
from router.snapshot.snapshot import Snapshot

FITTED = Calibration({"dense": 1.5}, -3.0, 0.4, 0.05, "phrases", {"everyday": 340})


@pytest.fixture(scope="module", autouse=True)
def few() -> Iterator[None]:
    """A tenth of the background queries: the rest changes nothing here but the time."""
    queries = background()[::10]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.learning.no_answer_calibration.fitting.background", lambda: queries)
        yield


@pytest.fixture
def serving(snapshot: Path, tmp_path: Path) -> Path:
    """A snapshot that was calibrated to FITTED."""
    folder = shutil.copytree(snapshot, tmp_path / "20260101T000000Z-abcdef01")
    fitted_to(folder, FITTED)
    return folder


def fitted_to(folder: Path, calibration: Calibration, **fitting: Any) -> None:
    manifest = Manifest.read(folder)
    tuning = {**manifest.tuning, "fitting": {"calibrations": [calibration.to_json()], **fitting}}
    replace(manifest, snapshot=folder.name, tuning=tuning).write(folder)


def reused(serving: Path, **other: Any) -> ReusedCalibration | None:
    """What a build would reuse whose versions, encoder and settings are the serving snapshot's, but for `other`."""
    of = Manifest.read(serving)
    same = {"versions": of.versions, "encoder": of.encoder, "languages": of.languages, "recipe": of.recipe}
    return reuse_calibration(serving, **{**same, "max_refused_share": 0.05, **other})


def test_a_calibration_is_reused_with_where_it_was_fitted(serving: Path) -> None:
    assert reused(serving) == ReusedCalibration((FITTED,), serving.name, Manifest.read(serving).content_hash)
    fitted_to(serving, FITTED, taken_over={"from": "first", "content_hash": "f" * 64})
    found = reused(serving)
    assert found is not None and (found.origin, found.content) == ("first", "f" * 64)
    assert found.named_in("f" * 64) == "f" * 64  # the content hash names a calibration that another content fitted
    assert found.named_in("a" * 64) not in {"a" * 64, found.named_in("b" * 64)}


@pytest.mark.parametrize(
    "other",
    [
        {"versions": {"format": 0}},
        {"encoder": EncoderManifest("small", "r1", "mean", "", 4, 64, "fp32")},
        {"languages": ("en", "de")},
        {"recipe": {}},
        {"max_refused_share": 0.1},
    ],
)
def test_under_other_settings_it_is_fitted_anew(serving: Path, other: dict[str, Any]) -> None:
    assert reused(serving, **other) is None


def test_what_queries_with_qrels_fitted_is_fitted_anew(serving: Path) -> None:
    fitted_to(serving, structs.replace(FITTED, source="judgements"))
    assert reused(serving) is None


def test_background_scores_are_measured_as_for_a_new_calibration(snapshot: Path) -> None:
    opened = Snapshot.open(snapshot)
    updated, anew = update_calibration(opened, ReusedCalibration((FITTED,), "first", "f" * 64)), calibrate(opened)
    assert updated.calibrations == (FITTED,)
    assert updated.background.statistics.keys() == anew.background.statistics.keys()
    for signal, statistics in anew.background.statistics.items():
        assert np.array_equal(updated.background.statistics[signal], statistics)
    assert np.array_equal(updated.background.task_direction, anew.background.task_direction)  # type: ignore[arg-type]
