"""A tiny encoder learns, stops in time, goes on after a kill, and is a model like any other when it is saved."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.learning.encoder.adoption import fine_tune
from pipeline.learning.encoder.batches import BatchSize
from pipeline.learning.encoder.card import read_card, write_card
from pipeline.learning.encoder.model import encode, load_model, move_back, save_model
from pipeline.learning.encoder.pairs import TrainingPairs
from pipeline.learning.encoder.plan import TrainingPlan
from pipeline.learning.encoder.reuse import find_tuned, tuned_folder
from pipeline.learning.encoder.training import train_encoder
from pipeline.learning.no_answer_calibration.background import background
from pipeline.progress import SilentProgress
from pipeline.vectors import export_encoder
from pipeline.vectors.reference import ReferenceEncoder
from router.encoding.export import EncoderModel, ExportCache, describe_model

EVERYDAY = [query.request for query in background()][:60]
PLAN = TrainingPlan(
    rank=8, rate=5e-3, size=BatchSize(tools=16, requests=3, siblings=2), epochs=10, most_steps=60, checks=6, seed=1
)


@pytest.fixture(scope="module")
def base(encoder_folder: Path) -> EncoderModel:
    return describe_model(str(encoder_folder), encoder_folder)


@pytest.fixture(scope="module")
def pairs() -> TrainingPairs:
    """Tools whose requests say another word than their texts, eight each: one in four is held out."""
    made = random.Random(0)
    pairs = [first + second for first in "abcdefgh" for second in "ijklmn"]
    words = made.sample(pairs, len(pairs))
    texts = [" ".join(pair) for pair in pairs]
    requests = [f"{' '.join(word)} {made.randrange(10)}" for word in words for _ in range(8)]
    held_out = np.array([number % 4 == 1 for _ in pairs for number in range(8)])
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


def test_training_finds_more_of_the_held_out_requests(base: EncoderModel, pairs: TrainingPairs) -> None:
    trained = train_encoder(base, pairs, replace(PLAN, rank=16, patience=6), SilentProgress())
    assert trained.steps > 0
    assert trained.scores[trained.steps] == max(trained.scores.values()) > 1.5 * trained.scores[0]


def let_bfloat16(monkeypatch: pytest.MonkeyPatch, is_fast: bool) -> None:
    """Let the processor have units for bfloat16, or none."""
    for unit in ("avx512_bf16", "amx_tile"):
        monkeypatch.setattr(f"torch.cpu._is_{unit}_supported", lambda: is_fast)


@pytest.mark.parametrize("is_fast", [True, False])
def test_deltas_learn_on_processors_with_and_without_units_for_bfloat16(
    base: EncoderModel, pairs: TrainingPairs, monkeypatch: pytest.MonkeyPatch, is_fast: bool
) -> None:
    let_bfloat16(monkeypatch, is_fast)
    plan = replace(PLAN, rate=1e-2, most_steps=12, checks=2, patience=2)
    scores = train_encoder(base, pairs, plan, SilentProgress()).scores
    assert len(set(scores.values())) == len(scores) == 3


def test_a_training_that_was_killed_ends_as_one_that_was_not(
    base: EncoderModel, pairs: TrainingPairs, tmp_path: Path
) -> None:
    plan = replace(PLAN, most_steps=12, checks=4, patience=4)
    whole = train_encoder(base, pairs, plan, SilentProgress())
    with pytest.raises(Killed):
        train_encoder(base, pairs, plan, KilledAfter(8), tmp_path)
    resumed = train_encoder(base, pairs, plan, KilledAfter(12), tmp_path)
    assert resumed.scores == whole.scores and resumed.steps == whole.steps
    texts = pairs.requests[:20]
    assert np.array_equal(encode(resumed.model, texts), encode(whole.model, texts))


def test_a_checkpoint_of_another_training_is_not_taken(
    base: EncoderModel, pairs: TrainingPairs, tmp_path: Path
) -> None:
    plan = replace(PLAN, most_steps=4, checks=2, patience=2)
    train_encoder(base, pairs, plan, SilentProgress(), tmp_path)
    with pytest.raises(Killed):  # it would not take a step if it went on from there
        train_encoder(base, pairs, replace(plan, seed=7), KilledAfter(3), tmp_path)
    (tmp_path / "training.pt").write_bytes(b"broken")
    with pytest.raises(Killed):
        train_encoder(base, pairs, plan, KilledAfter(3), tmp_path)


def test_a_saved_encoder_is_exported_like_any_other(base: EncoderModel, pairs: TrainingPairs, tmp_path: Path) -> None:
    trained = train_encoder(base, pairs, replace(PLAN, most_steps=6, checks=2), SilentProgress())
    folder = tuned_folder(tmp_path, base, "key")
    save_model(trained.model, folder, base, lambda place: write_card(place, {"steps": trained.steps}))
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    tuned = find_tuned(tmp_path, base, "key")
    assert tuned is not None and tuned.key != base.key
    assert (tuned.dim, tuned.pooling, tuned.max_length) == (base.dim, base.pooling, base.max_length)
    assert read_card(folder)["steps"] == trained.steps
    export = export_encoder(tuned, "fp32", ReferenceEncoder(tuned, 16), ExportCache([tmp_path / "exports"]))
    assert export.agreement["least"] > 0.9999


def test_requests_that_nothing_can_be_learned_of_change_nothing(
    base: EncoderModel, pairs: TrainingPairs, tmp_path: Path
) -> None:
    shuffled = replace(pairs, owners=np.random.default_rng(0).permutation(pairs.owners))
    kept = np.flatnonzero(~pairs.held_out)
    plan = replace(PLAN, most_steps=12)
    kept = kept[np.argsort(shuffled.owners[kept], kind="stable")]
    evidence = fine_tune(base, shuffled, kept, EVERYDAY, plan, "key", tmp_path / "tuned", SilentProgress())
    assert not evidence.adopted and evidence.skipped
    assert list(tmp_path.iterdir()) == []


def test_too_few_requests_are_told_with_their_number(base: EncoderModel, tmp_path: Path) -> None:
    none = TrainingPairs(["a tool"], [], np.empty(0, np.int64), np.empty(0, bool), np.zeros(1, np.int64))
    evidence = fine_tune(
        base, none, np.empty(0, np.int64), ["hello"], PLAN, "key", tmp_path / "tuned", SilentProgress()
    )
    assert "the catalog has no requests to learn from" in evidence.skipped


def test_all_weights_can_be_trained_and_the_query_prefix_is_kept(
    base: EncoderModel, pairs: TrainingPairs, tmp_path: Path
) -> None:
    asked = replace(base, query_prefix="ask: ")
    trained = train_encoder(asked, pairs, replace(PLAN, rank=0, rate=1e-3, most_steps=4), SilentProgress())
    save_model(trained.model, tmp_path / "all", asked, lambda folder: None)
    assert describe_model(str(tmp_path / "all"), tmp_path / "all").query_prefix == "ask: "


def test_a_trained_encoder_can_be_moved_halfway_back(base: EncoderModel, pairs: TrainingPairs) -> None:
    trained = train_encoder(base, pairs, replace(PLAN, rate=1e-2, most_steps=6, checks=1), SilentProgress())
    untuned = load_model(base)
    moved, others = dict(trained.model.named_parameters()), dict(untuned.named_parameters())
    name = next(name for name in moved if name.endswith("query.weight"))
    expected = (moved[name] + others[name]).detach().numpy() / 2
    move_back(trained.model, untuned, 0.5)
    assert np.allclose(moved[name].detach().numpy(), expected, atol=1e-6)
