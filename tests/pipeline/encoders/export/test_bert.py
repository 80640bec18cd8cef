"""A BERT's weights as ONNX, against the same arithmetic written out in numpy, and that against numbers by hand."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.encoders.export import EncoderModel, describe_model
from pipeline.encoders.export.bert import load_weights, unsupported_reason, write_bert
from pipeline.encoders.export.bert_numpy import NumpyBert
from router.encoding.encoder import OnnxEncoder
from router.errors import EncoderInvalid
from tests.pipeline.encoders.export.models import change, strong

TEXTS = ("refund", "?", "", "who is on call this weekend", "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 3)


def opened(model: EncoderModel) -> OnnxEncoder:
    write_bert(model, model.folder / "model.onnx")
    return OnnxEncoder.open(model.folder, model.spec("fp32"))


def agrees(model: EncoderModel) -> None:
    """The graph's vectors are the arithmetic's, alone and padded; tokens are given where their mean is the vector."""
    encoder, arithmetic = opened(model), NumpyBert(model)
    expected = np.stack([arithmetic.vector(encoder.feeds([text])["input_ids"][0].tolist()) for text in TEXTS])
    assert np.sum(encoder.encode(TEXTS) * expected, axis=1) == pytest.approx(1, abs=1e-5)
    assert encoder.encode(TEXTS[:1])[0] == pytest.approx(expected[0], abs=1e-4)
    assert (encoder.encode_parts("ab cd", [[(0, 2)]]) is not None) is (model.pooling == "mean")


@pytest.mark.parametrize(
    "config",
    [
        {"pooling": "mean", "num_attention_heads": 4},
        {"pooling": "cls", "num_attention_heads": 1},
        {"pooling": "max"},
        {"layer_norm_eps": 0.5},
        {"num_hidden_layers": 1},
        {"num_hidden_layers": 0},
        {"hidden_act": "gelu"},
    ],
    ids=str,
)
def test_a_graph_gives_the_vectors_of_the_arithmetic_whatever_the_config(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    agrees(strong(tmp_path, **config))


def test_weights_in_half_precision_and_under_a_heads_prefix_are_read(tmp_path: Path) -> None:
    model = strong(tmp_path)

    def halve(held: dict[str, Any]) -> None:
        halves = {f"bert.{name}": held.pop(name).astype(np.float16) for name in list(held)}
        held.update(halves, **{"cls.predictions.bias": np.zeros(3, np.float32)})

    rewrite(tmp_path, halve)
    assert unsupported_reason(model) is None
    assert load_weights(model)["embeddings.LayerNorm.bias"].dtype == np.float32
    agrees(model)


def test_without_a_layer_a_vector_is_the_normalised_sum_of_three_embeddings(tmp_path: Path) -> None:
    model = strong(tmp_path, pooling="cls", num_hidden_layers=0)
    weights = load_weights(model)
    rows = (("word", 5), ("position", 0), ("token_type", 0))
    total = sum(weights[f"embeddings.{kind}_embeddings.weight"][row] for kind, row in rows)
    scaled = (total - np.mean(total)) / math.sqrt(np.var(total) + 1e-12)
    scaled = scaled * weights["embeddings.LayerNorm.weight"] + weights["embeddings.LayerNorm.bias"]
    assert NumpyBert(model).vector([5, 9]) == pytest.approx(scaled / np.linalg.norm(scaled), abs=1e-5)


def rewrite(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Change a model's tensors."""
    from safetensors.numpy import load_file, save_file

    held = dict(load_file(folder / "model.safetensors"))
    edit(held)
    save_file(held, folder / "model.safetensors")


def widen(held: dict[str, Any]) -> None:
    held["embeddings.LayerNorm.bias"] = held["embeddings.LayerNorm.bias"].astype(np.float64)


DENSE_HEAD = '[{"type": "m.Transformer"}, {"type": "m.Pooling"}, {"type": "m.Dense"}]'
OBSTACLES: list[tuple[Callable[[Path], object], str]] = [
    (lambda f: change(f / "config.json", model_type="mpnet"), "model_type is 'mpnet'"),
    (lambda f: change(f / "config.json", hidden_act="gelu_new"), "hidden_act is 'gelu_new'"),
    (lambda f: change(f / "config.json", intermediate_size="64"), "no number for intermediate_size"),
    (lambda f: change(f / "config.json", num_attention_heads=5), "no multiple"),
    (lambda f: change(f / "config.json", position_embedding_type="relative_key"), "attention"),
    (lambda f: change(f / "config.json", is_decoder=True), "attention"),
    (lambda f: (f / "modules.json").write_text(DENSE_HEAD), "Dense"),
    (lambda f: change(f / "1_Pooling" / "config.json", include_prompt=False), "prompts"),
    (lambda f: change(f / "sentence_bert_config.json", do_lower_case=True), "lowercased"),
    (lambda f: change(f / "tokenizer_config.json", do_lower_case=False), "contradicts tokenizer.json in do_lower_case"),
    (lambda f: (f / "tokenizer.json").unlink(), "lacks"),
    (lambda f: rewrite(f, lambda held: held.pop("encoder.layer.1.output.dense.bias")), "layer.1.output.dense.bias"),
    (lambda f: rewrite(f, widen), "LayerNorm.bias"),
]


@pytest.mark.parametrize(("edit", "said"), OBSTACLES, ids=[said for _, said in OBSTACLES])
def test_what_is_no_plain_bert_is_told(tmp_path: Path, edit: Callable[[Path], object], said: str) -> None:
    model = strong(tmp_path)
    assert unsupported_reason(model) is None
    edit(tmp_path)
    assert said in str(unsupported_reason(model))


def test_a_bare_transformer_is_pooled_by_its_mean_and_another_pooling_is_told(tmp_path: Path) -> None:
    strong(tmp_path)
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode": "lasttoken"}', encoding="utf-8")
    assert unsupported_reason(describe_model("small", tmp_path)) == "its pooling is 'lasttoken'"
    (tmp_path / "modules.json").unlink()
    shutil.rmtree(tmp_path / "1_Pooling")
    model = describe_model("small", tmp_path)
    assert (model.pooling, unsupported_reason(model)) == ("mean", None)
    agrees(model)


@pytest.mark.parametrize("name", ["model.safetensors", "modules.json"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    model = strong(tmp_path)
    (tmp_path / name).write_bytes(b"\x00damaged")
    with pytest.raises(EncoderInvalid, match=name):
        unsupported_reason(model)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(EncoderInvalid, match=r"config\.json cannot be read"):
        describe_model("small", tmp_path)
