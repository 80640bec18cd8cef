"""Quantizes an fp32 ONNX model to int8: weights per channel, activations at run time.

Activations share one scale per text, and a few large channels would take it. SmoothQuant (Xiao et al., ICML 2023)
divides such channels and multiplies their weights, which changes nothing in exact arithmetic.
Weights are scaled so that no processor caps a sum of their products. See docs/decisions/vectors.md.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.process import silence_onnxruntime

_STRENGTH = 0.75  # the share of a channel's range that moves into the weights
_MIN_RANGE = 1e-6
_MOST_OF_A_PAIR = 127  # rounded 128, which by 255 is 32,640
_PRODUCTS = ("MatMul", "Attention")  # their first input is the activation, the second the weights

Feeds = Mapping[str, NDArray[np.int64]]


def quantize(path: Path, texts: Sequence[Feeds]) -> None:
    """Quantize the model at `path` in place; `texts` are encoder inputs that calibrate the activations' ranges."""
    silence_onnxruntime()
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = path.with_suffix(".prepared.onnx")
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    _smooth(prepared, texts)
    # Fused operators have no inferred types: all are floats.
    options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(str(prepared), str(path), weight_type=QuantType.QInt8, per_channel=True, extra_options=options)
    _fit_pairs(path, prepared)
    prepared.unlink()


def _smooth(path: Path, texts: Sequence[Feeds]) -> None:
    """Divide each channel before a product with weights by a factor, and multiply the weights by it."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(str(path))
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    products = [node for node in graph.node if node.op_type in _PRODUCTS and node.input[1] in weights]
    # Left out: weights that several layers share (ALBERT) would be multiplied once for each.
    inputs = {name: {node.input[0] for node in products if node.input[1] == name} for name in weights}
    products = [node for node in products if len(inputs[node.input[1]]) == 1]
    ranges = _ranges(path, sorted({node.input[0] for node in products}), texts)
    for tensor, largest in ranges.items():
        users = [node for node in products if node.input[0] == tensor]
        tables = {node.input[1]: numpy_helper.to_array(weights[node.input[1]]) for node in users}
        heaviest = np.max([np.abs(table).max(axis=1) for table in tables.values()], axis=0)
        factors = np.maximum(largest, _MIN_RANGE) ** _STRENGTH / np.maximum(heaviest, _MIN_RANGE) ** (1 - _STRENGTH)
        factors = (factors / np.exp(np.log(factors).mean())).astype(np.float32)
        smoothed = f"{tensor}.smoothed"
        graph.initializer.append(numpy_helper.from_array(1 / factors, f"{tensor}.factors"))
        place = min(list(graph.node).index(node) for node in users)
        graph.node.insert(place, helper.make_node("Mul", [tensor, f"{tensor}.factors"], [smoothed], name=smoothed))
        for node in users:
            node.input[0] = smoothed
        for name, table in tables.items():
            weights[name].CopyFrom(numpy_helper.from_array(table * factors[:, None], name))
    onnx.save(model, str(path))


def _fit_pairs(path: Path, prepared: Path) -> None:
    """Scale each channel of quantized weights again, from those of `prepared`, so that two neighbours sum to a byte.

    Processors without VNNI add the products of two neighbours in 16 bits, and cap what is larger.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for tensor in onnx.load(str(prepared)).graph.initializer:
        quantized, scale = (tensors.get(f"{tensor.name}_{kind}") for kind in ("quantized", "scale"))
        if quantized is None or scale is None or not scale.dims:  # tables and norms have one scale
            continue
        weights = numpy_helper.to_array(tensor)
        neighbours = np.arange(0, len(weights), 2)
        sums = [np.add.reduceat(np.maximum(part, 0), neighbours).max(axis=0) for part in (weights, -weights)]
        scales = np.maximum(np.maximum(*sums), _MIN_RANGE) / np.float32(_MOST_OF_A_PAIR)
        quantized.CopyFrom(numpy_helper.from_array(np.rint(weights / scales).astype(np.int8), quantized.name))
        scale.CopyFrom(numpy_helper.from_array(scales, scale.name))
    onnx.save(model, str(path))


def _ranges(path: Path, tensors: Sequence[str], texts: Sequence[Feeds]) -> dict[str, NDArray[np.float32]]:
    """Return the largest magnitude of each channel of some tensors over the texts: per tensor, shape (channels,)."""
    import onnx
    import onnxruntime
    from onnx import helper

    probe = onnx.load(str(path))
    probe.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in tensors)
    session: Any = onnxruntime.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    ranges: dict[str, NDArray[np.float32]] = {}
    for feeds in texts:
        for name, values in zip(tensors, session.run(list(tensors), dict(feeds)), strict=True):
            largest = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
            ranges[name] = np.maximum(ranges.get(name, largest), largest)
    return ranges
