"""The ONNX copy against the build's encoder."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import RunAborted
from pipeline.progress import Silent
from pipeline.settings import VectorSettings
from pipeline.vectors.export import AGREEMENT_TEXTS, Export, export
from pipeline.vectors.model import PACKAGED, EncoderModel, resolve
from pipeline.vectors.reference import ReferenceEncoder
from router.encoder import OnnxEncoder
from tests.small_encoder import save


def model_of(encoder: str | Path) -> EncoderModel:
    model = resolve(VectorSettings(encoder=str(encoder)), Silent())
    assert model is not None
    return model


def exported(model: EncoderModel, cache: Path) -> Export:
    return export(model, "fp32", ReferenceEncoder(model, 8), cache)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_the_copy_agrees_for_every_pooling(tmp_path: Path, pooling: str) -> None:
    model = model_of(save(tmp_path / "model", pooling=pooling))
    made = exported(model, tmp_path / "cache")
    assert made.agreement["least"] >= 0.9999
    assert made.agreement["texts"] == len(AGREEMENT_TEXTS)


def test_the_packaged_model_agrees_in_fp32_and_in_int8(tmp_path: Path) -> None:
    model = model_of(PACKAGED)
    reference = ReferenceEncoder(model, 8)
    assert export(model, "fp32", reference, tmp_path).agreement["least"] >= 0.9999
    int8 = export(model, "int8", reference, tmp_path)
    assert int8.agreement["mean"] >= 0.996  # .993 without smoothing
    assert int8.spec.precision == "int8"
    sizes = [(tmp_path / f"{model.key}-{p}" / "model.onnx").stat().st_size for p in ("fp32", "int8")]
    assert sizes[1] < sizes[0] / 3


def test_vectors_are_normalised_and_do_not_depend_on_their_batch(tmp_path: Path, encoder_folder: Path) -> None:
    made = exported(model_of(encoder_folder), tmp_path)
    encoder = OnnxEncoder.open(made.folder, made.spec)
    together = encoder.encode(AGREEMENT_TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in AGREEMENT_TEXTS])
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.sum(together * alone, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_request_is_encoded_with_the_query_prefix(tmp_path: Path) -> None:
    made = exported(model_of(save(tmp_path / "bge-small-en")), tmp_path / "cache")
    encoder = OnnxEncoder.open(made.folder, made.spec)
    assert made.spec.query_prefix
    expected = encoder.encode([made.spec.query_prefix + "refund"])[0]
    assert encoder.encode_request("refund").tolist() == expected.tolist()


def test_a_second_export_is_the_cached_one(tmp_path: Path, encoder_folder: Path) -> None:
    model = model_of(encoder_folder)
    first = exported(model, tmp_path)
    stamp = (first.folder / "model.onnx").stat().st_mtime_ns
    assert exported(model, tmp_path) == first
    assert (first.folder / "model.onnx").stat().st_mtime_ns == stamp


def test_a_damaged_cached_copy_is_made_anew(tmp_path: Path, encoder_folder: Path) -> None:
    model = model_of(encoder_folder)
    made = exported(model, tmp_path)
    (made.folder / "model.onnx").write_bytes(b"damaged")
    again = exported(model, tmp_path)
    assert OnnxEncoder.open(again.folder, again.spec).encode(["x"]).shape == (1, 32)


def test_a_copy_of_other_weights_is_refused(tmp_path: Path, encoder_folder: Path) -> None:
    class Other(ReferenceEncoder):
        """Exports one model and encodes with another, as a faulty exporter would."""

        def export(self, path: Path) -> None:
            ReferenceEncoder(model_of(save(tmp_path / "other", seed=7)), 8).export(path)

    model = model_of(encoder_folder)
    with pytest.raises(RunAborted, match=r"does not agree.*0\.9999"):
        export(model, "fp32", Other(model, 8), tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_weights_that_do_not_load_stop_with_the_models_name(tmp_path: Path) -> None:
    folder = save(tmp_path / "broken")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "no-such-type"}), encoding="utf-8")
    with pytest.raises(RunAborted, match="broken cannot be loaded"):
        exported(model_of(folder), tmp_path / "cache")
