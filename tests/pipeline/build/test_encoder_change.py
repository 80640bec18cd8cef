"""A build with another encoder than the one that serves learns all anew, says so, and leaves the old snapshot open."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.build import build
from pipeline.build.encoder_change import encoder_change, encoder_serving
from pipeline.build.report import BuildReport
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings, load
from router import Router
from router.contract import ADAPTER, BACKGROUND_SCORES, CATALOG_DB, Manifest
from router.encoding.export import describe_model
from router.encoding.export.cache import CACHE_VARIABLE
from tests.support.notes import Notes
from tests.support.once import made_once
from tests.support.small_encoder import save

_TOOLS, _PHRASES = 20, 6


def shop(folder: Path) -> Path:
    """A catalog of which an adapter and a calibration are learned, and reused where the encoder stays."""
    folder.mkdir()
    said = {n: [f"thing {n} please {p * 'x'}" for p in range(_PHRASES)] for n in range(_TOOLS)}
    tools = [{"id": f"t{n}", "name": f"do_{n}", "description": f"Does {n}."} for n in said]
    phrases = [{"id": f"t{n}", "when_to_use": "", "user_phrases": texts} for n, texts in said.items()]
    for name, rows in (("tools", tools), ("expansions", phrases)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that was built with one encoder and then with another of its shape, and one of the other alone."""

    def make(folder: Path) -> None:
        shop(folder / "shop")
        save(folder / "first", pooling="mean", seed=0)
        save(folder / "second", pooling="mean", seed=2)
        notes = Notes()
        reports = {
            "before": run(folder, "first", "ws"),
            "after": run(folder, "second", "ws", notes),
            "alone": run(folder, "second", "alone"),
        }
        told = {name: report.to_json() for name, report in reports.items()}
        (folder / "told.json").write_text(json.dumps({**told, "said": notes.said}), encoding="utf-8")

    return made_once(tmp_path_factory, "encoder-change", make)


@pytest.fixture(scope="module")
def told(place: Path) -> Any:
    return json.loads((place / "told.json").read_text(encoding="utf-8"))


@pytest.fixture
def moved(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it on a machine that has the second encoder alone, and no export of the first."""
    for name in ("shop", "ws", "second"):
        shutil.copytree(place / name, tmp_path / name)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.nightly
def test_nothing_that_was_learned_on_the_old_encoder_is_in_the_new_snapshot(told: Any) -> None:
    before, after, alone = (Manifest.read(Path(told[name]["snapshot"])) for name in ("before", "after", "alone"))
    assert {ADAPTER, BACKGROUND_SCORES} < before.files.keys()
    assert before.tuning["fitting"]["calibrations"]
    differing = {name for name, digest in after.files.items() if before.files.get(name) != digest}
    assert {ADAPTER, BACKGROUND_SCORES, "vectors.npy", "encoder/model.onnx"} < differing
    # A build that has never seen the old one gives the same bytes.
    assert {**after.files, CATALOG_DB: ""} == {**alone.files, CATALOG_DB: ""}
    assert (after.tuning, after.recipe, after.content_hash) == (alone.tuning, alone.recipe, alone.content_hash)
    assert "taken_over" not in json.dumps(dict(after.tuning))


@pytest.mark.nightly
def test_with_the_same_encoder_it_would_have_been_reused(place: Path, tmp_path: Path) -> None:
    for name in ("shop", "ws", "second"):
        shutil.copytree(place / name, tmp_path / name)
    with (tmp_path / "shop" / "tools.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "new", "name": "new", "description": "Is new."}) + "\n")
    report = run(tmp_path, "second", "ws")
    assert report.tuning["adapter"]["taken_over"] and report.tuning["fitting"]["taken_over"]
    assert report.encoder_before is None


@pytest.mark.nightly
def test_the_report_says_that_the_encoder_changed_and_from_what(told: Any) -> None:
    before, after, alone = (told[name] for name in ("before", "after", "alone"))
    assert before["encoder_before"] is None and alone["encoder_before"] is None
    assert after["encoder_before"] == before["snapshot_encoder"] and after["encoder_before"]["model"] == "first"
    assert after["snapshot_encoder"]["model"] == after["encoder"] == "second"
    assert after["embedded"] == alone["embedded"] > 0
    (said,) = [line for line in told["said"] if line.startswith("the encoder changes")]
    revisions = [told[name]["snapshot_encoder"]["revision"] for name in ("before", "after")]
    assert f"from first (revision {revisions[0]}) to second (revision {revisions[1]})" in said


@pytest.mark.nightly
def test_the_old_snapshot_opens_and_answers_where_its_encoder_is_gone(moved: Path, told: Any) -> None:
    store = moved / "ws" / "snapshots" / "shop"
    old, new = (Router.open(store / Path(told[name]["snapshot"]).name) for name in ("before", "after"))
    assert old.manifest.encoder is not None and old.manifest.encoder.model == "first"
    assert old.route("thing 3 please").tools and new.route("thing 3 please").tools
    vectors = [np.load(store / router.manifest.snapshot / "vectors.npy") for router in (old, new)]
    assert vectors[0].shape == vectors[1].shape and not np.array_equal(*vectors)


def test_a_manifest_tells_what_auto_would_have_preferred_and_no_path(tmp_path: Path, snapshot: Path) -> None:
    assert Manifest.read(snapshot).preferred_encoder == ""  # the settings named a folder
    assert VectorSettings().preferred_name == "BAAI/bge-base-en-v1.5"
    assert VectorSettings(preferred=str(tmp_path)).preferred_name == tmp_path.name
    assert VectorSettings(encoder="none").preferred_name == ""


def test_another_revision_is_a_change_of_encoder_and_one_tuned_from_the_builds_own_is_none(
    snapshot: Path, encoder_folder: Path, tmp_path: Path
) -> None:
    model = describe_model(str(encoder_folder), encoder_folder)
    serving = Manifest.read(snapshot)
    assert serving.encoder is not None and encoder_serving(snapshot) == serving.encoder
    assert encoder_change(snapshot, model) is None and encoder_change(snapshot, None) is None
    other = replace(serving, encoder=replace(serving.encoder, model="old", revision="r1"))
    for tuning, changes in (({}, True), ({"base": model.revision}, False), ({"base": "another"}, True)):
        evidence = {"encoder": {"key": "k", "skipped": "", **tuning}} if tuning else {}
        replace(other, tuning=evidence).write(tmp_path)
        assert (encoder_change(tmp_path, model) is not None) is changes
    told = encoder_change(tmp_path, model)
    assert told is not None and f"from old (revision r1) to {model.name} (revision {model.revision})" in told
    (tmp_path / "manifest.json").unlink()
    for missing in (None, tmp_path):
        assert encoder_serving(missing) is None and encoder_change(missing, model) is None
