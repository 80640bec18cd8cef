"""The calibration of the snapshot that serves is taken over with its adapter, and the cohort follows the catalog."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.learning.no_answer_calibration.background import background, score_background
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker
from pipeline.learning.no_answer_calibration.reuse import ReusedCalibration, reuse_calibration, update_calibration
from router.contract import BACKGROUND_SCORES, VECTORS, EncoderManifest, Manifest, Signal
from router.fingerprint import file_sha256
from router.retrieval.no_answer_calibration import Calibration
from router.snapshot.snapshot import Snapshot

SETTLED = Calibration({"dense": 1.5}, -3.0, 0.4, 0.05, "phrases", {"everyday": 340})


@pytest.fixture(scope="module", autouse=True)
def few() -> Iterator[None]:
    """A tenth of the everyday requests: the rest changes nothing here but the time."""
    requests = background()[::10]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.learning.no_answer_calibration.reuse.background", lambda: requests)
        yield


@pytest.fixture
def serving(snapshot: Path, tmp_path: Path) -> Path:
    """A snapshot that was calibrated: its own cohort, and SETTLED."""
    folder = shutil.copytree(snapshot, tmp_path / "20260101T000000Z-abcdef01")
    cohort, _ = score_background(BatchRanker(Snapshot.open(folder)), background()[::10])
    files = {name: file_sha256(folder / name) for name in cohort.save(folder)}
    manifest = Manifest.read(folder)
    told = {"calibrations": [SETTLED.to_json()]}
    replace(
        manifest, snapshot=folder.name, files={**manifest.files, **files}, tuning={**manifest.tuning, "fitting": told}
    ).write(folder)
    return folder


def taken(serving: Path, **other: Any) -> ReusedCalibration | None:
    """What a build would take over whose versions, encoder and settings are the serving snapshot's, but for `other`."""
    of = Manifest.read(serving)
    same = {"versions": of.versions, "encoder": of.encoder, "languages": of.languages, "recipe": of.recipe}
    return reuse_calibration(serving, **{**same, "max_refused_share": 0.05, **other})


def test_what_was_settled_is_taken_over_with_where_it_is_first_from(serving: Path) -> None:
    manifest = Manifest.read(serving)
    assert taken(serving) == ReusedCalibration(serving, (SETTLED,), serving.name, manifest.content_hash)
    told = {**manifest.tuning["fitting"], "taken_over": {"from": "first", "content_hash": "f" * 64}}
    replace(manifest, tuning={"fitting": told}).write(serving)
    found = taken(serving)
    assert found is not None and (found.origin, found.content) == ("first", "f" * 64)
    assert found.named_in("f" * 64) == "f" * 64  # the content hash names a calibration that another content settled
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
def test_under_other_settings_it_is_settled_anew(serving: Path, other: dict[str, Any]) -> None:
    assert taken(serving, **other) is None


def test_what_judged_requests_settled_is_settled_anew(serving: Path) -> None:
    told = {"calibrations": [replace(SETTLED, source="judgements").to_json()]}
    replace(Manifest.read(serving), tuning={"fitting": told}).write(serving)
    assert taken(serving) is None


@pytest.mark.parametrize("name", [BACKGROUND_SCORES, VECTORS])
def test_of_a_damaged_file_nothing_is_taken(serving: Path, name: str) -> None:
    (serving / name).write_bytes(b"damaged")
    assert taken(serving) is None


@pytest.mark.parametrize("changed", [[], [0, 7]])
def test_of_tools_with_other_vectors_the_statistics_are_measured(
    serving: Path, tmp_path: Path, changed: list[int]
) -> None:
    vectors, table = BatchRanker(Snapshot.open(serving)).vectors, np.load(serving / BACKGROUND_SCORES)
    rows, measured = np.array(vectors.rows), table[list(Signal).index(Signal.DENSE)].copy()
    now = shutil.copytree(serving, tmp_path / "now")
    for tool in changed:  # before, these had other vectors and other means
        rows[vectors.offsets[tool]] = -rows[vectors.offsets[tool]]
        table[list(Signal).index(Signal.DENSE), 0, tool] = 9
    for name, array in ((VECTORS, rows), (BACKGROUND_SCORES, table)):
        np.save(serving / name, array)
    manifest = Manifest.read(serving)
    files = {name: file_sha256(serving / name) for name in (VECTORS, BACKGROUND_SCORES)}
    replace(manifest, files={**manifest.files, **files}).write(serving)
    found = taken(serving)
    assert found is not None
    done = update_calibration(Snapshot.open(now, check=False), found)
    np.testing.assert_allclose(done.background.statistics[Signal.DENSE], measured, rtol=1e-4, atol=1e-6)
    before = Snapshot.open(serving, check=False).background_scores
    assert before is not None and done.calibrations == (SETTLED,)
    assert np.array_equal(before.task_direction, done.background.task_direction)  # type: ignore[arg-type]
    for signal in before.statistics.keys() - {Signal.DENSE}:
        assert np.array_equal(before.statistics[signal], done.background.statistics[signal])
