"""A build with another encoder than the one that serves learns all anew, says so, and leaves the old snapshot open."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.reading import encoder_change, encoder_serving
from pipeline.build.report import BuildReport
from pipeline.encoders.export import describe_model
from pipeline.progress import SilentProgress
from pipeline.settings import load
from pipeline.store import SnapshotStore
from router import Router
from router.contract import ADAPTER, BACKGROUND_SCORES, CATALOG_DB, MANIFEST, Manifest
from router.store import current_folder
from router.user_cache import CACHE_VARIABLE
from tests.support.notes import Notes
from tests.support.quick import QUICK
from tests.support.rows import write_rows
from tests.support.small_encoder import save

_TOOLS, _PHRASES = 20, 6


def shop(folder: Path) -> Path:
    """A catalog of which an adapter and a calibration are learned, and reused where the encoder stays."""
    folder.mkdir()
    said = {n: [f"thing {n} please {p * 'x'}" for p in range(_PHRASES)] for n in range(_TOOLS)}
    tools = [{"id": f"t{n}", "name": f"do_{n}", "description": f"Does {n}."} for n in said]
    phrases = [{"id": f"t{n}", "when_to_use": "", "user_phrases": texts} for n, texts in said.items()]
    write_rows(folder / "tools.jsonl", tools)
    write_rows(folder / "expansions.jsonl", phrases)
    return folder


def run(place: Path, encoder: str, workspace: str, progress: SilentProgress | None = None) -> BuildReport:
    overrides: dict[str, dict[str, Any]] = {
        "vectors": {"encoder": str(place / encoder)},
        "tuning": {"max_stale_share": 1.0},
        "assessment": {"enabled": False},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.learning.adapter.training._SIGNIFICANCE", 1.1)
        settings = load(place / "shop", overrides, environment={})
        return build(settings, workspace=place / workspace, progress=progress)


@pytest.mark.nightly  # four builds that learn
def test_nothing_that_was_learned_on_the_old_encoder_is_in_the_new_snapshot_and_the_change_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path / "shop")
    for seed, name in ((0, "first"), (2, "second")):
        save(tmp_path / name, pooling="mean", seed=seed)
    notes = Notes()
    before, after = run(tmp_path, "first", "ws"), run(tmp_path, "second", "ws", notes)
    alone = run(tmp_path, "second", "alone")  # has never seen the old one, and gives the same bytes
    old, new, own = (Manifest.read(report.snapshot) for report in (before, after, alone))
    assert {ADAPTER, BACKGROUND_SCORES} < old.files.keys() and old.tuning["fitting"]["calibrations"]
    differing = {name for name, digest in new.files.items() if old.files.get(name) != digest}
    assert {ADAPTER, BACKGROUND_SCORES, "vectors.npy", "encoder/model.onnx"} < differing
    assert {**new.files, CATALOG_DB: ""} == {**own.files, CATALOG_DB: ""}
    assert (new.tuning, new.recipe, new.content_hash) == (own.tuning, own.recipe, own.content_hash)
    assert "taken_over" not in json.dumps(dict(new.tuning))
    assert before.encoder_before is None and alone.encoder_before is None
    assert after.encoder_before == before.snapshot_encoder == old.encoder
    assert after.encoder == "second" and after.embedded == alone.embedded > 0
    assert len([line for line in notes.said if line.startswith("the encoder changes from first (")]) == 1
    # With the same encoder it is reused.
    with (tmp_path / "shop" / "tools.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "new", "name": "new", "description": "Is new."}) + "\n")
    report = run(tmp_path, "second", "ws")
    assert report.tuning["adapter"]["taken_over"] and report.tuning["fitting"]["taken_over"]
    assert report.encoder_before is None
    # The old snapshot answers where its encoder, and its export, are gone.
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    shutil.rmtree(tmp_path / "first")
    assert Router.open(before.snapshot).route("thing 3 please").tools


def test_another_revision_is_a_change_of_encoder(snapshot: Path, encoder_folder: Path, tmp_path: Path) -> None:
    model = describe_model(str(encoder_folder), encoder_folder)
    serving = Manifest.read(snapshot)
    assert serving.encoder is not None and encoder_serving(snapshot) == serving.encoder
    assert encoder_change(snapshot, model) is None and encoder_change(snapshot, None) is None
    replace(serving, encoder=replace(serving.encoder, model="old", revision="r1")).write(tmp_path)
    told = encoder_change(tmp_path, model)
    assert told is not None and f"from old (revision r1) to {model.name} (revision {model.revision})" in told
    (tmp_path / "manifest.json").unlink()
    for missing in (None, tmp_path):
        assert encoder_serving(missing) is None and encoder_change(missing, model) is None


def test_a_build_says_that_it_cannot_know_the_encoder_of_a_manifest_that_cannot_be_read(
    quick: Path, catalog: Path
) -> None:
    serving, notes = current_folder(SnapshotStore(quick, "office")), Notes()
    (serving / MANIFEST).write_text("{}", encoding="utf-8")
    build(load(catalog, QUICK, environment={}), workspace=quick, progress=notes)
    unknown = f"is not known, so that auto cannot keep it: {serving / MANIFEST} is not a snapshot's manifest"
    assert f"the encoder of the snapshot that serves {unknown}" in notes.said
