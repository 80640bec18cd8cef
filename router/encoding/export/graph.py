"""An ONNX graph, written node by node. `onnx` is imported when the first is begun."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOKEN_AXES = ["batch", "length"]  # the axes of token ids
_OPSET, _IR = 17, 8


class OnnxGraph:
    """A model under construction. Weights are put where they stay: a copy more of a large model is half a gigabyte."""

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
        self._named: set[str] = set()
        for name in ("input_ids", "attention_mask"):
            self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, TOKEN_AXES))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant where it is not there yet; return its name."""
        from onnx import numpy_helper

        if name not in self._named:
            self._named.add(name)
            kind = np.float32 if np.issubdtype(value.dtype, np.floating) else value.dtype
            self._graph.initializer.append(numpy_helper.from_array(np.asarray(value, kind, order="C"), name))
        return name

    def cast(self, name: str, kind: type[np.generic] = np.int32) -> str:
        """Add a cast; return the name of what it gives."""
        from onnx import helper

        return self.node("Cast", [name], to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node of one output; return its name."""
        return self.nodes(kind, inputs, 1, **attributes)[0]

    def nodes(self, kind: str, inputs: list[str], count: int, *, fused: bool = False, **attributes: Any) -> list[str]:
        """Add a node, `fused` where it is ONNX Runtime's own; return the names of its outputs."""
        from onnx import helper

        name = f"{kind}_{len(self._graph.node)}"
        outputs = [f"{name}_{place}" for place in range(count)]
        domain = "com.microsoft" if fused else ""
        self._graph.node.append(helper.make_node(kind, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs

    def output(self, name: str, inner: str, axes: list[str]) -> None:
        """Give a node's output to the caller, under a name of its own; `axes` come before the vector's."""
        from onnx import TensorProto, helper

        self._graph.node.append(helper.make_node("Identity", [inner], [name], name=f"output_{name}"))
        self._graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [*axes, self._dim]))
