"""A tiny encoder learns, goes on after a kill, and is a model like any other where it gained."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.encoders.delta import CHECKSUMS_FILE, DELTA_FILE
from pipeline.encoders.export import EncoderModel, ExportCache, describe_model
from pipeline.errors import RunAborted
from pipeline.progress import SilentProgress
from pipeline.vectors import ReferenceEncoder, export_encoder
from quartermaster.training import LabelledRequests, TrainingPlan, TrainingReport, train_encoder
from quartermaster.training.command import CARD
from quartermaster.training.measuring import is_gain, measure_gain, reciprocal_ranks
from quartermaster.training.requests import TrainingPairs
from tests.support.small_delta import save_small_delta

PLAN = TrainingPlan(rank=8, rate=5e-3, batch_size=16, epochs=10, most_steps=6, checks=3, share=0.5, seed=1)
takes_torch = pytest.mark.nightly


@pytest.fixture(scope="module")
def base(encoder_folder: Path) -> EncoderModel:
    return describe_model(str(encoder_folder), encoder_folder)


@pytest.fixture(scope="module")
def found() -> LabelledRequests:
    """Tools whose requests say another word than their texts, eight each: one in four is held out."""
    made = random.Random(0)
    texts = [f"{first} {second}" for first in "abcdefgh" for second in "ijklmn"]
    requests = [f"{words} {made.randrange(10)}" for words in made.sample(texts, len(texts)) for _ in range(8)]
    held_out = np.array([number % 4 == 1 for _ in texts for number in range(8)])
    pairs = TrainingPairs(texts, requests, np.repeat(np.arange(48), 8), held_out, np.zeros(48, np.int64))
    return LabelledRequests(pairs, ["letters"], ["p1"], 0)


@pytest.fixture
def adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training counts as a gain: a random model of two layers is no good student."""
    monkeypatch.setattr(TrainingReport, "is_gain", property(lambda report: True))


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


def train(
    base: EncoderModel, found: LabelledRequests, folder: Path, plan: TrainingPlan = PLAN, steps: int = 99
) -> TrainingReport:
    pytest.importorskip("peft", reason="the extra train is not installed")
    pytest.importorskip("datasets", reason="the extra train is not installed")
    return train_encoder(base, found, plan, folder, KilledAfter(steps), "quartermaster train")


@takes_torch
@pytest.mark.parametrize("over", ["plain", "delta"])
def test_a_trained_delta_is_exported_like_any_other_encoder(
    over: str, base: EncoderModel, found: LabelledRequests, tmp_path: Path, adopted: None
) -> None:
    if over == "delta":
        folder = save_small_delta(tmp_path / "first", base.folder)
        base = describe_model(str(folder), folder)
    report = train(base, found, tmp_path / "ours")
    assert {path.name for path in tmp_path.iterdir()} - {"first"} == {"ours"}  # no checkpoint is left
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {DELTA_FILE, CHECKSUMS_FILE, CARD}
    assert json.loads((tmp_path / "ours" / CARD).read_text("utf-8"))["steps"] == report.steps > 0
    trained = describe_model(str(tmp_path / "ours"), tmp_path / "ours")
    assert trained.revision != base.revision and (trained.dim, trained.pooling) == (base.dim, base.pooling)
    export = export_encoder(trained, "fp32", ReferenceEncoder(trained, 16), ExportCache([tmp_path / "exports"]))
    assert export.agreement["least"] > 0.9999


@takes_torch
@pytest.mark.parametrize("rank", [8, 0])
def test_a_training_that_was_killed_ends_as_one_that_was_not(
    rank: int, base: EncoderModel, found: LabelledRequests, tmp_path: Path, adopted: None
) -> None:
    plan = TrainingPlan(rank, 5e-3, batch_size=16, epochs=10, most_steps=6, checks=3, seed=1)
    whole = train(base, found, tmp_path / "whole", plan)
    with pytest.raises(Killed):
        train(base, found, tmp_path / "resumed", plan, steps=4)
    resumed = train(base, found, tmp_path / "resumed", plan)
    assert resumed == whole
    name = DELTA_FILE if rank else "model.safetensors"
    assert (tmp_path / "resumed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@takes_torch
def test_a_training_without_a_gain_leaves_nothing(base: EncoderModel, found: LabelledRequests, tmp_path: Path) -> None:
    report = train(base, found, tmp_path / "ours", TrainingPlan(4, 1e-5, batch_size=16, most_steps=2, checks=1))
    assert not report.is_gain and not [*tmp_path.iterdir()]


@takes_torch
def test_a_batch_holds_siblings_and_no_tool_that_its_requests_need_as_well() -> None:
    pytest.importorskip("sentence_transformers", reason="the extra train is not installed")
    from quartermaster.training.trainer import SiblingBatches, siblings_of

    tools = np.arange(12)
    requests = [f"r{tool}" for tool in tools] + ["both", "both"]  # tools 0 and 6 are needed by one request
    owners = np.array([*tools, 0, 6])
    pairs = TrainingPairs([*"abcdefghijkl"], requests, owners, np.zeros(14, bool), np.repeat([0, 1], 6))
    angle = np.repeat(np.arange(6), 2) / 4 + np.tile([0.0, 0.3], 6)  # pairs of near tools, in the plane
    vectors = np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)
    siblings = siblings_of(pairs, tools, vectors)
    assert all((tool < 6) == (other < 6) for tool, near in siblings.items() for other in near)
    sampler = SiblingBatches(requests, pairs, siblings, batch_size=4, drop_last=False, seed=2)
    batches = [*sampler]
    assert batches == [*sampler] and len(batches) == len(sampler)
    sampler.set_epoch(1)
    assert batches != [*sampler]
    for batch in batches:
        chosen = owners[batch].tolist()
        assert len({*chosen}) == len(batch) <= 4
        assert any(other in siblings[tool] for tool in chosen for other in chosen)
        assert {0, 6} - {*chosen} or not {12, 13} & {*batch}
    assert len({place for batch in batches for place in batch}) == sum(map(len, batches))


def test_held_back_requests_judge_by_the_rank_of_their_tools_in_their_own_catalog(found: LabelledRequests) -> None:
    pairs, everyday = found.pairs, [f"everyday {number}" for number in range(20)]

    def blind(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.random.default_rng(len(texts)).normal(size=(len(texts), 48)).astype(np.float32)

    def perfect(texts: Sequence[str]) -> NDArray[np.float32]:
        ordinals = ({pairs.tools.index(text)} if text in pairs.tools else pairs.needed.get(text, ()) for text in texts)
        told = np.array([[tool in own for tool in range(48)] for own in ordinals])
        return (told + blind(texts) / 1_000).astype(np.float32)

    gain = measure_gain(blind, perfect, pairs, ["letters"], everyday, "")
    assert is_gain(gain) and gain["rows"][0]["after"]["mrr"] == 1.0 and gain["mistaken"][1] < gain["mistaken"][0]
    assert [row["catalog"] for row in gain["rows"]] == ["all", "letters"]
    assert not is_gain(measure_gain(perfect, blind, pairs, ["letters"], everyday, ""))
    assert not is_gain(measure_gain(blind, blind, pairs, ["letters"], everyday, ""))


def test_the_tools_that_a_request_needs_stand_in_nobodys_way() -> None:
    pairs = TrainingPairs(["a", "b"], ["both"] * 2, np.arange(2), np.ones(2, bool), np.zeros(2, np.int64))
    vectors = {"a": [1, 0], "b": [0.6, 0.8], "both": [1, 0]}
    ranks = reciprocal_ranks(lambda texts: np.array([vectors[text] for text in texts]), pairs, np.arange(2), "")
    assert ranks.tolist() == [1, 1]


def test_what_is_missing_is_named_before_anything_is_trained(
    base: EncoderModel, found: LabelledRequests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartermaster.training.command.find_spec", lambda name: None if name == "peft" else True)
    with pytest.raises(RunAborted, match=r"training an encoder takes peft: pip install '.*\[train\]'"):
        train_encoder(base, found, PLAN, tmp_path / "ours", SilentProgress(), "")
    monkeypatch.setattr("quartermaster.training.command.find_spec", lambda name: True)
    few = TrainingPairs(["a"], ["b"], np.zeros(1, np.int64), np.zeros(1, bool), np.zeros(1, np.int64))
    with pytest.raises(RunAborted, match="there are 1 requests with known tools, of 1 catalogs"):
        train_encoder(base, LabelledRequests(few, ["c"], [], 0), PLAN, tmp_path / "ours", SilentProgress(), "")
