"""What a build exports: through the user's cache, by torch where the model is not a plain BERT, with a delta or not."""

import json
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.encoders.delta import DELTA_FILE, read_delta, write_checksums, write_delta
from pipeline.encoders.export import PACKAGED, EncoderModel, Export, ExportCache
from pipeline.encoders.export.agreement_texts import AGREEMENT_TEXTS
from pipeline.encoders.export.bert import unsupported_reason
from pipeline.errors import RunAborted
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings
from pipeline.vectors import ReferenceEncoder, export_encoder, resolve_encoder, user_cache
from pipeline.vectors.model import load_sentence_transformer
from router.encoding.encoder import OnnxEncoder
from tests.pipeline.encoders.export.models import strong
from tests.support.small_delta import save_small_delta
from tests.support.small_encoder import save


def model_of(encoder: str | Path) -> EncoderModel:
    model = resolve_encoder(VectorSettings(encoder=str(encoder)), SilentProgress())
    assert model is not None
    return model


def exported(model: EncoderModel, cache: Path, precision: str = "fp32") -> Export:
    return export_encoder(model, precision, ReferenceEncoder(model, 8), ExportCache([cache]))


def cosines(made: Export, expected: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The cosines of an export's vectors of AGREEMENT_TEXTS with others."""
    found: np.ndarray[Any, Any] = np.sum(OnnxEncoder.open(made.folder, made.spec).encode(AGREEMENT_TEXTS) * expected, 1)
    return found


def traced(folder: Path) -> Path:
    """The model with its weights in torch's own file, which only torch reads. Imports torch."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.nightly  # tracing takes 20 s
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_what_torch_exports_agrees_with_the_model_for_every_pooling(tmp_path: Path, pooling: str) -> None:
    model = model_of(traced(save(tmp_path / "model", pooling=pooling)))
    assert unsupported_reason(model) is not None
    made = exported(model, tmp_path / "cache")
    assert made.agreement["least"] >= 0.9999
    assert made.agreement["texts"] == len(AGREEMENT_TEXTS)


@pytest.mark.nightly
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_bert_exported_without_torch_gives_the_vectors_of_sentence_transformers(tmp_path: Path, pooling: str) -> None:
    model = model_of(save(tmp_path / "model", pooling=pooling))
    expected = ReferenceEncoder(model, 8).encode(AGREEMENT_TEXTS)
    assert cosines(exported(model, tmp_path / "cache"), expected).min() >= 0.99999


@pytest.mark.nightly
def test_the_packaged_model_gives_the_vectors_of_sentence_transformers_in_fp32_and_nearly_in_int8(
    tmp_path: Path,
) -> None:
    model = model_of(PACKAGED)
    expected = ReferenceEncoder(model, 8).encode(AGREEMENT_TEXTS)
    full, int8 = (exported(model, tmp_path, precision) for precision in ("fp32", "int8"))
    assert cosines(full, expected).min() >= 0.99999
    mean = cosines(int8, expected).mean()
    assert mean >= 0.996  # .993 without smoothing
    assert int8.agreement["mean"] == pytest.approx(mean, abs=1e-4)
    sizes = [(made.folder / "model.onnx").stat().st_size for made in (full, int8)]
    assert sizes[1] < sizes[0] / 3


@pytest.mark.nightly
def test_an_export_of_other_weights_is_refused(tmp_path: Path) -> None:
    class Other(ReferenceEncoder):
        """Exports one model and encodes with another, as a faulty exporter would."""

        def export(self, path: Path) -> None:
            ReferenceEncoder(model_of(save(tmp_path / "other", seed=7)), 8).export(path)

    model = model_of(traced(save(tmp_path / "model")))
    with pytest.raises(RunAborted, match=r"does not agree.*0\.9999"):
        export_encoder(model, "fp32", Other(model, 8), ExportCache([tmp_path / "cache"]))
    assert not list((tmp_path / "cache").glob("[!.]*"))


# The first components of the vector of "refund a charge", as sentence-transformers gave them.
@pytest.mark.parametrize(
    ("pooling", "first"),
    [
        ("cls", [0.1339, -0.1108, 0.1671, 0.0167, -0.0460, 0.0230]),
        ("mean", [0.1335, -0.1106, 0.1673, 0.0166, -0.0481, 0.0214]),
        ("max", [0.1347, -0.1101, 0.1684, 0.0168, -0.0461, 0.0288]),
    ],
)
def test_the_vectors_of_an_export_are_those_that_sentence_transformers_gave(
    tmp_path: Path, pooling: str, first: list[float]
) -> None:
    made = exported(strong(tmp_path / "model", pooling=pooling), tmp_path / "cache")
    vector = OnnxEncoder.open(made.folder, made.spec).encode(["refund a charge"])[0]
    assert vector[: len(first)] == pytest.approx(first, abs=2e-4)


@pytest.mark.nightly
def test_weights_that_do_not_load_stop_with_the_models_name(tmp_path: Path) -> None:
    folder = save(tmp_path / "broken")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "no-such-type"}), encoding="utf-8")
    with pytest.raises(RunAborted, match="broken cannot be loaded"):
        exported(model_of(folder), tmp_path / "cache")


@pytest.mark.nightly
def test_a_build_says_what_it_waits_for_and_only_where_it_waits(tmp_path: Path) -> None:
    stages: list[str] = []

    class Heard(SilentProgress):
        def start(self, stage: str, total: int | None = None) -> None:
            stages.append(stage)

    def run(folder: Path) -> list[str]:
        stages.clear()
        model = model_of(folder)
        export_encoder(model, "fp32", ReferenceEncoder(model, 8), user_cache(model, tmp_path, Heard()))
        return list(stages)

    plain = save(tmp_path / "plain", seed=11)
    assert [run(plain), run(plain)] == [["export"], []]
    other = traced(save(tmp_path / "other", seed=12))
    assert [run(other), run(other)] == [["trace"], []]


def test_another_architecture_without_torch_stops_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")  # which only torch reads
    model = model_of(folder)
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, package=None: None if name.startswith("sent") else found(name))
    with pytest.raises(RunAborted, match=r"without torch: it lacks model\.safetensors.*\[models\]"):
        exported(model, tmp_path / "cache")


@pytest.mark.nightly  # imports torch
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_an_export_of_a_delta_gives_the_vectors_of_sentence_transformers(tmp_path: Path, pooling: str) -> None:
    base = strong(tmp_path / "base", pooling=pooling)
    model = model_of(save_small_delta(tmp_path / "ours", base.folder))
    made = exported(model, tmp_path / "cache")
    expected, plain = (ReferenceEncoder(one, 8).encode(AGREEMENT_TEXTS) for one in (model, base))
    assert cosines(made, expected).min() >= 0.9999
    assert np.sum(plain * expected, axis=1).max() < 0.99


@pytest.mark.nightly
def test_a_delta_that_does_not_fit_stops_with_its_map(tmp_path: Path) -> None:
    folder = save_small_delta(tmp_path / "ours", strong(tmp_path / "base").folder)
    delta = read_delta(folder / DELTA_FILE)
    write_delta(folder, delta.header, {"encoder.other": next(iter(delta.factors.values()))})
    write_checksums(folder)
    with pytest.raises(RunAborted, match=r"ours cannot be loaded: .*'encoder\.other'"):
        load_sentence_transformer(model_of(folder))


def test_a_base_that_neither_disk_nor_hub_has_stops_with_its_name(tmp_path: Path) -> None:
    base = strong(tmp_path / "base")
    with pytest.raises(RunAborted, match="'acme/base' is not a folder here, and the hub does not provide it"):
        model_of(save_small_delta(tmp_path / "ours", base.folder, name="acme/base"))
