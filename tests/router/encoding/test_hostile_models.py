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
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "tokenizer.json").write_bytes((snapshot / ENCODER_FOLDER / "tokenizer.json").read_bytes())
    return inner


def save(folder: Path, constant: onnx.TensorProto | None, *nodes: onnx.NodeProto) -> None:
    """Write a model of these nodes; by default it gives the constant, whatever is asked."""
    names = ("input_ids", "attention_mask")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("vector", TensorProto.FLOAT, None)
    nodes = nodes or (helper.make_node("Identity", ["constant"], ["vector"]),)
    graph = helper.make_graph(nodes, "model", inputs, [output], [constant] if constant else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    (folder / ENCODER_MODEL).write_bytes(model.SerializeToString())


def require_vector(folder: Path, snapshot: Path, deadline_s: float = 30) -> None:
    spec = Manifest.read(snapshot).encoder
    assert spec is not None
    OnnxEncoder.open(folder, spec).require_vector(deadline_s)


def test_a_model_that_never_ends_is_ended_at_the_deadline(folder: Path, snapshot: Path) -> None:
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["again"], ["on"]), helper.make_node("Identity", ["x"], ["y"])],
        "body",
        [value("i", TensorProto.INT64, []), value("again", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, None)],
        [value("on", TensorProto.BOOL, []), value("y", TensorProto.FLOAT, None)],
    )
    times = helper.make_tensor("times", TensorProto.INT64, [], [2**62])
    cast = helper.make_node("Cast", ["input_ids"], ["start"], to=TensorProto.FLOAT)
    save(folder, times, cast, helper.make_node("Loop", ["times", "", "start"], ["vector"], body=body))
    begun = time.monotonic()
    with pytest.raises(SnapshotInvalid, match=r"gave no vector within 0\.2 s"):
        require_vector(folder, snapshot, 0.2)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("vector", [np.full((1, 32), np.nan), np.ones((1, 31)), np.ones((2, 32)), np.ones(32)])
def test_a_model_that_gives_no_vector_is_refused(folder: Path, snapshot: Path, vector: np.ndarray) -> None:
    save(folder, helper.make_tensor("constant", TensorProto.FLOAT, vector.shape, vector.astype(np.float32).ravel()))
    with pytest.raises(SnapshotInvalid, match="it must be finite float32 of shape"):
        require_vector(folder, snapshot)


@pytest.mark.parametrize("absolute", [True, False])
def test_weights_outside_the_folder_of_a_model_are_not_read(folder: Path, snapshot: Path, absolute: bool) -> None:
    outside = folder.parent / "weights"
    np.ones((1, 32), np.float32).tofile(outside)
    weights = onnx.TensorProto(name="constant", data_type=TensorProto.FLOAT, dims=[1, 32])
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=str(outside) if absolute else "../weights")
    save(folder, weights)
    with pytest.raises(SnapshotInvalid, match="cannot be loaded"):
        require_vector(folder, snapshot)
