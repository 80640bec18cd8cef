"""A build tunes its encoder where the settings ask for it, reuses it, and says why where it does not."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline import learning
from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.encoders.delta import DELTA_FILE
from pipeline.learning.encoder import adoption
from pipeline.learning.encoder.adoption import EncoderEvidence, compared
from pipeline.learning.encoder.batches import BatchSize
from pipeline.settings import load
from router import Router
from router.contract import Manifest
from tests.support.rows import write_rows

_PLAN = learning.TrainingPlan(
    rank=16, rate=1e-2, size=BatchSize(16, 3, 2), epochs=10, most_steps=20, checks=2, patience=2, seed=1
)


def run(folder: Path, encoder: Path, description: str = "", **tuning: Any) -> BuildReport:
    """Build 48 tools with eight phrases each, which say other letters than their tools."""
    made = random.Random(0)
    catalog = folder / "letters"
    catalog.mkdir(exist_ok=True)
    names = [first + second for first in "abcdefgh" for second in "ijklmn"]
    words = dict(zip(names, made.sample(names, len(names)), strict=True))
    tools = [{"id": name, "name": name, "description": " ".join(name)} for name in names]
    tools[0]["description"] += description
    rows = [
        {"id": name, "user_phrases": [f"{' '.join(word)} {made.randrange(10)}{number}" for number in range(8)]}
        for name, word in words.items()
    ]
    write_rows(catalog / "tools.jsonl", tools)
    write_rows(catalog / "expansions.jsonl", rows)
    values: dict[str, dict[str, Any]] = {
        "vectors": {"encoder": str(encoder), "precision": "fp32"},
        "assessment": {"enabled": False},
        "tuning": {"encoder": "finetune", **tuning},
    }
    return build(load(catalog, values, environment={}), workspace=folder / "ws")


@pytest.mark.nightly  # trains with torch
def test_a_tuned_encoder_serves_is_reused_and_is_trained_again_once_enough_has_changed(
    tmp_path: Path, encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def adopted(*arguments: Any) -> EncoderEvidence:  # a random model of two layers is no good student
        return replace(compared(*arguments), skipped="")

    monkeypatch.setattr(adoption, "compared", adopted)
    monkeypatch.setattr(learning, "TrainingPlan", lambda: _PLAN)
    first = run(tmp_path, encoder_folder)
    evidence = first.tuning["encoder"]
    assert evidence["judged"] and not evidence["skipped"]
    manifest = Manifest.read(first.snapshot)
    assert manifest.encoder is not None and manifest.encoder.model == f"small-random-tuned-{evidence['key']}"
    (tuned,) = (tmp_path / "ws" / "tuned" / "letters").iterdir()
    assert {path.name for path in tuned.iterdir()} == {DELTA_FILE, "README.md", "SHA256SUMS", "training.json"}
    assert Router.open(first.snapshot).route("i j 1").tools
    monkeypatch.setattr(learning, "fine_tune", None)  # called, it would fail: nothing is trained from here on
    assert run(tmp_path, encoder_folder).outcome == "unchanged"
    second = run(tmp_path, encoder_folder, " and something else")
    assert second.outcome == "published"
    taken_over = second.tuning["encoder"]["taken_over"]
    assert taken_over["from"] == first.snapshot.name and 0 < taken_over["changed"] < 0.05
    assert Manifest.read(second.snapshot).encoder == manifest.encoder
    with pytest.raises(TypeError):  # it would be trained
        run(tmp_path, encoder_folder, " and something else", max_stale_share=0.001)
