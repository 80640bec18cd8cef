"""Builds an ONNX graph node by node. `onnx` is imported when the first graph is created."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOKEN_AXES = ["batch", "length"]  # the axes of token ids
_OPSET, _IR = 17, 8


class OnnxGraph:
    """A model under construction, whose vectors have `dim` components.

    Weights are written in place: another copy of a large model would take half a gigabyte.
    """

    def __init__(self, dim: int) -> None:
        from onnx import TensorProto, helper

        self._dim = dim
        self.model = helper.make_model(
            helper.make_graph([], "bert", [], []),
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)],
            ir_version=_IR,
            producer_name="quartermaster",
        )
        self._graph = self.model.graph
        self._constant_names: set[str] = set()
        for name in ("input_ids", "attention_mask"):
            self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, TOKEN_AXES))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant, unless one of the name exists; return the name."""
        from onnx import numpy_helper

        if name not in self._constant_names:
            self._constant_names.add(name)
            kind = np.float32 if np.issubdtype(value.dtype, np.floating) else value.dtype
            self._graph.initializer.append(numpy_helper.from_array(np.asarray(value, kind, order="C"), name))
        return name

    def cast(self, name: str, kind: type[np.generic] = np.int32) -> str:
        """Add a cast of an output to a numpy dtype; return the name of the result."""
        from onnx import helper

        return self.node("Cast", [name], to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node with one output; return the output's name."""
        return self.nodes(kind, inputs, 1, **attributes)[0]

    def nodes(self, kind: str, inputs: list[str], count: int, *, fused: bool = False, **attributes: Any) -> list[str]:
        """Add a node with `count` outputs; return their names. `fused` marks operators of ONNX Runtime's own domain."""
        from onnx import helper

        name = f"{kind}_{len(self._graph.node)}"
        outputs = [f"{name}_{place}" for place in range(count)]
        domain = "com.microsoft" if fused else ""
        self._graph.node.append(helper.make_node(kind, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs

    def output(self, name: str, inner: str, axes: list[str]) -> None:
        """Make a node's output an output of the model, under another name; `axes` precede the vector's axis."""
        from onnx import TensorProto, helper

        self._graph.node.append(helper.make_node("Identity", [inner], [name], name=f"output_{name}"))
        self._graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [*axes, self._dim]))
