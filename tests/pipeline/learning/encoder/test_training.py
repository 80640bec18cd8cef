"""A tiny encoder learns, goes on after a kill, and is a model like any other when it is saved."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.encoders.export import EncoderModel, ExportCache, describe_model
from pipeline.learning.encoder.batches import BatchSize
from pipeline.learning.encoder.card import read_card, write_card
from pipeline.learning.encoder.model import encode, load_model
from pipeline.learning.encoder.pairs import TrainingPairs
from pipeline.learning.encoder.plan import TrainingPlan
from pipeline.learning.encoder.reuse import find_tuned, tuned_folder
from pipeline.learning.encoder.saving import save_encoder
from pipeline.learning.encoder.several_catalogs import pairs_of_catalogs
from pipeline.learning.encoder.training import train_encoder
from pipeline.progress import SilentProgress
from pipeline.vectors import export_encoder
from pipeline.vectors.reference import ReferenceEncoder

pytestmark = pytest.mark.timeout(180)  # the first of the night imports torch: ten seconds of a quiet core
PLAN = TrainingPlan(
    rank=8, rate=5e-3, size=BatchSize(tools=16, requests=3, siblings=2), epochs=10, most_steps=12, checks=4, seed=1
)


@pytest.fixture(scope="module")
def base(encoder_folder: Path) -> EncoderModel:
    return describe_model(str(encoder_folder), encoder_folder)


@pytest.fixture(scope="module")
def pairs() -> TrainingPairs:
    """Tools whose requests say another word than their texts, eight each: one in four is held out."""
    made = random.Random(0)
    texts = [f"{first} {second}" for first in "abcdefgh" for second in "ijklmn"]
    requests = [f"{words} {made.randrange(10)}" for words in made.sample(texts, len(texts)) for _ in range(8)]
    held_out = np.array([number % 4 == 1 for _ in texts for number in range(8)])
    return TrainingPairs(texts, requests, np.repeat(np.arange(48), 8), held_out, np.zeros(48, np.int64))


class Killed(Exception):
    """Stands for the end of the process."""


class KilledAfter(SilentProgress):
    """Ends a training after some steps."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def advance(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise Killed


@pytest.mark.nightly  # imports torch
def test_a_trained_encoder_scores_its_checks_and_is_saved_found_and_exported_like_any_other(
    base: EncoderModel, pairs: TrainingPairs, tmp_path: Path
) -> None:
    trained = train_encoder(base, pairs, replace(PLAN, most_steps=6, checks=2), SilentProgress())
    assert trained.scores[trained.steps] == max(trained.scores.values()) and len(trained.scores) == 3
    folder = tuned_folder(tmp_path, base, "key")
    save_encoder(trained, folder, base, lambda place: write_card(place, {"steps": trained.steps}))
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    tuned = find_tuned(tmp_path, base, "key")
    assert tuned is not None and tuned.key != base.key
    assert (tuned.dim, tuned.pooling, tuned.max_length) == (base.dim, base.pooling, base.max_length)
    assert np.array_equal(encode(load_model(tuned), pairs.tools), encode(trained.model, pairs.tools))
    assert read_card(folder)["steps"] == trained.steps
    export = export_encoder(tuned, "fp32", ReferenceEncoder(tuned, 16), ExportCache([tmp_path / "exports"]))
    assert export.agreement["least"] > 0.9999


@pytest.mark.nightly
def test_a_training_that_was_killed_ends_as_one_that_was_not(
    base: EncoderModel, pairs: TrainingPairs, tmp_path: Path
) -> None:
    plan = replace(PLAN, patience=4)
    whole = train_encoder(base, pairs, plan, SilentProgress())
    with pytest.raises(Killed):
        train_encoder(base, pairs, plan, KilledAfter(8), tmp_path)
    with pytest.raises(Killed):  # a checkpoint of another training is not taken
        train_encoder(base, pairs, replace(plan, seed=7), KilledAfter(3), tmp_path / "other")
    resumed = train_encoder(base, pairs, plan, KilledAfter(12), tmp_path)
    assert resumed.scores == whole.scores and resumed.steps == whole.steps
    assert np.array_equal(encode(resumed.model, pairs.requests[:20]), encode(whole.model, pairs.requests[:20]))


def test_of_several_catalogs_whole_providers_are_held_back_and_unknown_tools_counted(snapshot: Path) -> None:
    requests = [("a request of nobody", ["nobody/nothing"]), ("refund, then tell them", ["stripe/create_refund"])]
    found = pairs_of_catalogs([(snapshot, None)], requests, seed=3)
    pairs = found.pairs
    assert found.unknown == 1 and "refund, then tell them" in pairs.requests
    held_back = {int(owner) for owner in pairs.owners[pairs.held_out]}
    assert held_back and not held_back & {int(owner) for owner in pairs.owners[pairs.taught]}
    assert len(found.providers) == 1
