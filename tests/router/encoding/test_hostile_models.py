"""Encoders that somebody else wrote: one that never ends, one that gives no vector, one that reads another file."""

import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from router.contract import ENCODER_FOLDER, ENCODER_MODEL, Manifest
from router.encoding.encoder import OnnxEncoder
from router.errors import SnapshotInvalid


@pytest.fixture
def folder(snapshot: Path, tmp_path: Path) -> Path:
    """A folder with the tokenizer of the session's snapshot, and no model yet."""
    (tmp_path / "tokenizer.json").write_bytes((snapshot / ENCODER_FOLDER / "tokenizer.json").read_bytes())
    return tmp_path


def save(folder: Path, nodes: list[onnx.NodeProto], constants: list[onnx.TensorProto]) -> None:
    names = ("input_ids", "attention_mask")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("vector", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph(nodes, "model", inputs, [output], constants), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    (folder / ENCODER_MODEL).write_bytes(model.SerializeToString())


def opened(folder: Path, snapshot: Path) -> OnnxEncoder:
    spec = Manifest.read(snapshot).encoder
    assert spec is not None
    return OnnxEncoder.open(folder, spec)


def test_a_model_that_never_ends_is_ended_at_the_deadline(folder: Path, snapshot: Path) -> None:
    nothing = [helper.make_tensor_value_info("again", TensorProto.BOOL, [])]
    number, value = helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("x", 1, None)
    body = helper.make_graph(
        [helper.make_node("Identity", ["again"], ["on"]), helper.make_node("Identity", ["x"], ["y"])],
        "body",
        [number, *nothing, value],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("y", 1, None)],
    )
    constants = [
        helper.make_tensor("times", TensorProto.INT64, [], [2**62]),
        helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
    ]
    cast = helper.make_node("Cast", ["input_ids"], ["start"], to=TensorProto.FLOAT)
    save(folder, [cast, helper.make_node("Loop", ["times", "yes", "start"], ["vector"], body=body)], constants)
    begun = time.monotonic()
    with pytest.raises(SnapshotInvalid, match=r"gave no vector within 0\.2 s"):
        opened(folder, snapshot).require_vector(0.2)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("vector", [np.full((1, 32), np.nan), np.ones((1, 31)), np.ones((2, 32)), np.ones(32)])
def test_a_model_that_gives_no_vector_is_refused(folder: Path, snapshot: Path, vector: np.ndarray) -> None:
    constant = helper.make_tensor("constant", TensorProto.FLOAT, vector.shape, vector.astype(np.float32).ravel())
    save(folder, [helper.make_node("Identity", ["constant"], ["vector"])], [constant])
    with pytest.raises(SnapshotInvalid, match="it must be finite float32 of shape"):
        opened(folder, snapshot).require_vector()


@pytest.mark.parametrize("absolute", [True, False])
def test_weights_outside_the_folder_of_a_model_are_not_read(folder: Path, snapshot: Path, absolute: bool) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (folder / "tokenizer.json").rename(inner / "tokenizer.json")
    np.ones((1, 32), np.float32).tofile(folder / "weights")
    weights = onnx.TensorProto(name="weights", data_type=TensorProto.FLOAT, dims=[1, 32])
    weights.data_location = TensorProto.EXTERNAL
    location = str(folder / "weights") if absolute else "../weights"
    weights.external_data.add(key="location", value=location)
    save(inner, [helper.make_node("Identity", ["weights"], ["vector"])], [weights])
    with pytest.raises(SnapshotInvalid, match="cannot be loaded"):
        opened(inner, snapshot)
