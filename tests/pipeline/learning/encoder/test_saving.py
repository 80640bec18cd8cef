"""A training of rank > 0 is saved as a delta: what was measured, bit for bit, and a model like any other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.learning.encoder.card import read_card, write_card
from pipeline.learning.encoder.low_rank import add_deltas, deltas_of
from pipeline.learning.encoder.model import encode, load_model, move_back
from pipeline.learning.encoder.reuse import find_tuned, tuned_folder
from pipeline.learning.encoder.saving import save_delta, save_encoder
from pipeline.vectors.sentence_transformer import linear_maps
from router.encoding.delta import DELTA_FILE, read_checksums, read_delta
from router.encoding.export import EncoderModel, describe_model
from router.fingerprint import file_sha256
from tests.router.encoding.export.models import strong
from tests.support.trained_deltas import trained

TEXTS = ["refund a charge", "who is on call", "a b c", "9 8 7"]
FIGURES = {"steps": 7, "base": {"name": "base", "revision": "r"}}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> EncoderModel:
    folder = strong(tmp_path_factory.mktemp("bases") / "base").folder
    return describe_model(str(folder), folder)


def write(folder: Path) -> None:
    write_card(folder, FIGURES)


def read(folder: Path) -> EncoderModel:
    return describe_model(str(folder), folder)


def test_a_saved_delta_is_the_model_that_was_measured_bit_for_bit(base: EncoderModel, tmp_path: Path) -> None:
    ours = trained(base)
    model = ours.model
    save_encoder(ours, tmp_path / "ours", base, write)
    weights, measured = load_model(read(tmp_path / "ours")).state_dict(), model.state_dict()
    assert weights.keys() == measured.keys()
    assert all(np.array_equal(weights[name].numpy(), measured[name].numpy()) for name in weights)
    assert np.array_equal(encode(load_model(read(tmp_path / "ours")), TEXTS), encode(model, TEXTS))
    assert not np.allclose(encode(load_model(base), TEXTS), encode(model, TEXTS), atol=0.01)


def test_a_learner_answers_as_the_model_that_its_deltas_are_merged_into(base: EncoderModel) -> None:
    import torch

    learner, ours = load_model(base), trained(base)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        add_deltas(learner, 4)
    assert np.array_equal(encode(learner, TEXTS), encode(load_model(base), TEXTS))  # a new delta is zero
    assert deltas_of(learner) == {}
    with torch.no_grad():
        for name, (down, up) in ours.deltas.items():
            delta = dict(linear_maps(learner))[name].delta
            delta.down.copy_(torch.from_numpy(down))
            delta.up.copy_(torch.from_numpy(up))
    assert np.allclose(encode(learner, TEXTS), encode(ours.model, TEXTS), atol=1e-5)
    half = deltas_of(learner, 0.5)
    assert not any(name.startswith("pooler") for name in half)  # nothing was trained there
    assert all(np.array_equal(half[name][1], ours.deltas[name][1] / 2) for name in ours.deltas)


def test_a_deltas_folder_is_small_and_has_all_that_says_what_it_is(base: EncoderModel, tmp_path: Path) -> None:
    save_encoder(trained(base), tmp_path / "ours", base, write)
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]
    files = {path.name for path in (tmp_path / "ours").iterdir()}
    assert files == {DELTA_FILE, "README.md", "SHA256SUMS", "training.json"}
    assert read_checksums(tmp_path / "ours") == {
        name: file_sha256(tmp_path / "ours" / name) for name in files - {"SHA256SUMS"}
    }
    assert read_card(tmp_path / "ours")["steps"] == 7
    header = read_delta(tmp_path / "ours" / DELTA_FILE).header
    assert (header.scale, header.rank, header.query_prefix) == (2.0, 4, "")
    assert header.base_weights == file_sha256(base.folder / "model.safetensors")


def test_equal_trainings_give_equal_folders(base: EncoderModel, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_encoder(trained(base), tmp_path / name / "ours", base, write)
    for file in (tmp_path / "one" / "ours").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / "ours" / file.name).read_bytes()


def test_a_model_that_was_moved_back_is_saved_where_it_lies(base: EncoderModel, tmp_path: Path) -> None:
    ours = trained(base)
    model = ours.model
    move_back(model, load_model(base), 0.5)
    save_encoder(ours, tmp_path / "ours", base, write, share=0.5)
    assert np.allclose(encode(load_model(read(tmp_path / "ours")), TEXTS), encode(model, TEXTS), atol=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_a_training_over_a_delta_is_one_delta_over_the_plain_base(
    base: EncoderModel, tmp_path: Path, share: float
) -> None:
    save_encoder(trained(base, rank=3), tmp_path / "first", base, write)
    first = read(tmp_path / "first")
    ours = trained(first, rank=2, seed=1)
    model = ours.model
    move_back(model, load_model(first), share)
    save_encoder(ours, tmp_path / "second", first, write, share)
    second = read(tmp_path / "second")
    assert second.folder.samefile(base.folder) and second.delta is not None
    assert read_delta(second.delta).header.rank == 5
    assert np.allclose(encode(load_model(second), TEXTS), encode(model, TEXTS), atol=1e-6)
    (tmp_path / "first" / DELTA_FILE).unlink()  # it is needed no more
    assert read(tmp_path / "second") == second


def test_the_query_prefix_of_the_training_is_kept(base: EncoderModel, tmp_path: Path) -> None:
    save_encoder(trained(base), tmp_path / "ours", replace(base, query_prefix="ask: "), write)
    assert read(tmp_path / "ours").query_prefix == "ask: "


def test_all_weights_are_saved_where_all_were_trained_or_the_base_has_none_in_safetensors(
    base: EncoderModel, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file

    save_encoder(replace(trained(base), deltas={}), tmp_path / "all", base, write)
    other = strong(tmp_path / "other")
    torch.save(load_file(other.folder / "model.safetensors"), other.folder / "pytorch_model.bin")
    (other.folder / "model.safetensors").unlink()
    save_encoder(trained(other), tmp_path / "whole", other, write)
    for name in ("all", "whole"):
        assert (tmp_path / name / "model.safetensors").is_file() and read(tmp_path / name).delta is None


def test_a_tuned_delta_is_found_over_a_base_that_lies_elsewhere_by_now(base: EncoderModel, tmp_path: Path) -> None:
    moved = strong(tmp_path / "before" / "base")
    save_encoder(trained(moved), tuned_folder(tmp_path / "tuned", base, "key"), moved, write)
    (tmp_path / "before").rename(tmp_path / "after")
    tuned = find_tuned(tmp_path / "tuned", base, "key")
    assert tuned is not None and tuned.folder == base.folder


def test_a_model_card_tells_data_plan_figures_and_licence_and_cannot_be_written_by_names(
    base: EncoderModel, tmp_path: Path
) -> None:
    own = strong(tmp_path / "base")
    (own.folder / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# base\n", encoding="utf-8")
    row = {
        "catalog": "crm | <b>\n# not a heading",
        "requests": 1_234,
        "before": {"mrr": 0.5, "interval": [0.4, 0.6]},
        "after": {"mrr": 0.75, "interval": None},
        "difference": {"difference": 0.25, "interval": [0.2, 0.3], "p": 0.0001},
    }
    data = {"catalogs": ["crm"], "pairs": 900, "tools": 80, "held_out": 100, "held_back_providers": 3}
    card = {**FIGURES, "data": data, "plan": {"rank": 4}, "gain": {"rows": [row], "mistaken": [0.1, 0.09]}}
    card["command"] = "quartermaster train crm\n --out ours"
    save_delta(trained(own).deltas, tmp_path / "ours", own, lambda folder: write_card(folder, card))
    text = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert "900 requests and 80 tools of crm" in text and "licence: apache-2.0" in text
    assert "    quartermaster train crm --out ours\n" in text
    cells = (
        "crm \\| \\<b\\> # not a heading",
        "1,234",
        "0.500 [0.400, 0.600]",
        "0.750",
        "+0.250 [0.200, 0.300]",
        "0.0001",
    )
    assert f"| {' | '.join(cells)} |\n" in text
