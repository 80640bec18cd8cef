"""Writes a BERT model as an ONNX graph, node by node: no torch, no tracing.

The graph uses ONNX Runtime's fused operators (a layer is six nodes), with pooling and normalisation inside. Other
architectures are left to torch: see `unsupported_reason`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.delta import read_delta
from pipeline.encoders.export.model import WEIGHTS_FILE, EncoderModel, read_json
from router.contract import ENCODER_TOKENIZER, ENCODER_TOKENS
from router.errors import EncoderInvalid

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


Weights = Mapping[str, NDArray[np.float32]]

_PREFIX = "bert."  # of the weights' names, where a checkpoint has heads beside the encoder
_TABLES = "embeddings."  # matrices that are no linear maps
_DTYPES = ("F32", "F16")
_PARTS = (
    *(f"attention.self.{part}" for part in ("query", "key", "value")),
    *("attention.output.dense", "attention.output.LayerNorm"),
    *("intermediate.dense", "output.dense", "output.LayerNorm"),
)
_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_NEEDED = {"num_attention_heads", "num_hidden_layers", "hidden_size", "intermediate_size", "max_position_embeddings"}
# Settings of tokenizer_config.json, which transformers puts before those of tokenizer.json, by the latter's names.
_NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
_PADDING = -1e9  # replaces padding in max pooling, as in sentence-transformers
_LEAST_NORM = 1e-12


def unsupported_reason(model: EncoderModel) -> str | None:
    """Return why `write_bert` cannot write a model; None where it can.

    Raises EncoderInvalid where the model's files cannot be read.
    """
    folder = model.folder
    config = read_json(folder / "config.json")
    modules = _modules(folder)
    settings = read_json(folder / "tokenizer_config.json")
    if config.get("model_type") != "bert":
        return f"its model_type is {config.get('model_type')!r}, not 'bert'"
    if missing := sorted(name for name in _NEEDED if not isinstance(config.get(name), int)):
        return f"its config.json has no number for {missing[0]}"
    if config["hidden_size"] % config["num_attention_heads"]:
        return "its hidden_size is no multiple of its num_attention_heads"
    if config.get("hidden_act", "gelu") != "gelu":
        return f"its hidden_act is {config['hidden_act']!r}, not 'gelu'"
    if config.get("position_embedding_type", "absolute") != "absolute" or config.get("is_decoder"):
        return "its attention is not BERT's own"
    if modules not in _MODULES:
        return f"its modules are {modules}, not a transformer and its pooling"
    if model.pooling not in ("mean", "cls", "max"):
        return f"its pooling is {model.pooling!r}"
    if read_json(folder / "1_Pooling" / "config.json").get("include_prompt") is False:
        return "its pooling leaves prompts out"
    if read_json(folder / "sentence_bert_config.json").get("do_lower_case"):
        return "its texts are lowercased before its tokenizer"
    normalizer = read_json(folder / ENCODER_TOKENIZER).get("normalizer") or {}
    for setting, name in _NORMALIZER.items():
        if setting in settings and name in normalizer and settings[setting] != normalizer[name]:
            return f"its tokenizer_config.json contradicts {ENCODER_TOKENIZER} in {setting}"
    if not (folder / WEIGHTS_FILE).is_file() or not (folder / ENCODER_TOKENIZER).is_file():
        return f"it lacks {WEIGHTS_FILE} or {ENCODER_TOKENIZER}"
    return _weights_problem(folder / WEIGHTS_FILE, config)


def write_bert(model: EncoderModel, path: Path) -> None:
    """Write a model as ONNX to a path. `unsupported_reason` of the model must be None.

    Inputs: `input_ids` and `attention_mask`, int64 of shape (batch, length). Outputs: the L2-normalised `vector`, and
    with mean pooling the token vectors, so that parts of a text can be pooled. Raises OSError where the path cannot be
    written.
    """
    config = load_config(model)
    weights = load_weights(model)
    graph = OnnxGraph(model.dim)
    tokens = _transformer(graph, weights, config)
    del weights
    _pool(graph, tokens, model.pooling)
    path.write_bytes(graph.model.SerializeToString())


def load_config(model: EncoderModel) -> Mapping[str, Any]:
    """Return the model's config.json, which has its numbers of layers, heads and channels."""
    return read_json(model.folder / "config.json")


def load_weights(model: EncoderModel) -> Weights:
    """Return the model's weights by name, as float32, with its delta added.

    Raises EncoderInvalid where the delta cannot be read, or changes other maps than the base has.
    """
    from safetensors.numpy import load_file

    held = load_file(model.folder / WEIGHTS_FILE)
    weights = {name.removeprefix(_PREFIX): value.astype(np.float32, copy=False) for name, value in held.items()}
    if model.delta is not None:
        shapes = {
            name.removesuffix(".weight"): value.shape
            for name, value in weights.items()
            if name.endswith(".weight") and value.ndim == 2 and not name.startswith(_TABLES)
        }
        for name, change in read_delta(model.delta).changes(shapes):
            weights[f"{name}.weight"] = weights[f"{name}.weight"] + change
    return weights


def _transformer(graph: OnnxGraph, weights: Weights, config: Mapping[str, Any]) -> str:
    """Add the embeddings and the layers; return the name of the output that holds the token vectors."""
    epsilon = float(config.get("layer_norm_eps", 1e-12))

    def weight(name: str) -> str:
        return graph.constant(name, weights[name])

    def product(name: str, x: str) -> str:
        return graph.node("MatMul", [x, graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)])

    def add_and_norm(name: str, x: str, skipped: str) -> str:
        inputs = [x, skipped, weight(f"{name}.LayerNorm.weight"), weight(f"{name}.LayerNorm.bias")]
        inputs.append(weight(f"{name}.dense.bias"))
        return graph.node("SkipLayerNormalization", inputs, fused=True, epsilon=epsilon)

    embeddings = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    segments = graph.node("Mul", [graph.cast("input_ids"), graph.constant("zero", np.zeros(1, np.int32))])
    mask = graph.cast("attention_mask")
    norm = [weight("embeddings.LayerNorm.weight"), weight("embeddings.LayerNorm.bias")]
    inputs = [graph.cast("input_ids"), segments, *map(weight, embeddings), *norm, mask]
    x, lengths = graph.nodes("EmbedLayerNormalization", inputs, 2, fused=True, epsilon=epsilon)
    heads = config["num_attention_heads"]
    for layer in range(config["num_hidden_layers"]):
        place = f"encoder.layer.{layer}"
        parts = [f"{place}.attention.self.{part}" for part in ("query", "key", "value")]
        joined = graph.constant(f"{place}.qkv.weight", np.hstack([weights[f"{part}.weight"].T for part in parts]))
        bias = graph.constant(f"{place}.qkv.bias", np.hstack([weights[f"{part}.bias"] for part in parts]))
        attended = graph.node("Attention", [x, joined, bias, lengths], fused=True, num_heads=heads)
        x = add_and_norm(f"{place}.attention.output", product(f"{place}.attention.output.dense", attended), x)
        inner = product(f"{place}.intermediate.dense", x)
        inner = graph.node("BiasGelu", [inner, weight(f"{place}.intermediate.dense.bias")], fused=True)
        x = add_and_norm(f"{place}.output", product(f"{place}.output.dense", inner), x)
    return x


def _pool(graph: OnnxGraph, tokens: str, pooling: str) -> None:
    """Add the pooling and the normalisation; with mean pooling, add the token vectors as an output."""
    if pooling == "cls":
        pooled = graph.node("Gather", [tokens, graph.constant("first", np.array(0, np.int64))], axis=1)
    else:
        axis = graph.constant("last_axis", np.array([-1], np.int64))
        mask = graph.node("Unsqueeze", [graph.cast("attention_mask", np.float32), axis])
        if pooling == "max":
            is_token = graph.cast(mask, np.bool_)
            farthest = graph.constant("farthest", np.array(_PADDING, np.float32))
            pooled = graph.node("ReduceMax", [graph.node("Where", [is_token, tokens, farthest])], axes=[1], keepdims=0)
        else:
            # A sum: the normalisation cancels the mean's divisor.
            along = graph.constant("length_axis", np.array([1], np.int64))
            pooled = graph.node("ReduceSum", [graph.node("Mul", [tokens, mask]), along], keepdims=0)
    norm = graph.node("ReduceL2", [pooled], axes=[1], keepdims=1)
    least = graph.constant("least_norm", np.array(_LEAST_NORM, np.float32))
    graph.output("vector", graph.node("Div", [pooled, graph.node("Max", [norm, least])]), TOKEN_AXES[:1])
    if pooling == "mean":
        graph.output(ENCODER_TOKENS, tokens, TOKEN_AXES)


def _modules(folder: Path) -> list[str]:
    """Return the class names of the model's modules; for a bare transformer, those that sentence-transformers adds."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        return [str(module["type"]).rpartition(".")[2] for module in modules]
    except FileNotFoundError:
        return _MODULES[0]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EncoderInvalid(f"the encoder's {folder / 'modules.json'} cannot be read: {error}") from error


def _weights_problem(path: Path, config: Mapping[str, Any]) -> str | None:
    """Return which weight is missing or of another dtype; None where all are there."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as weights:
            names = weights.keys()
            dtypes = {name.removeprefix(_PREFIX): weights.get_slice(name).get_dtype() for name in names}
    except (OSError, SafetensorError) as error:
        raise EncoderInvalid(f"the encoder's {path} cannot be read: {error}") from error
    missing = [name for name in _weight_names(config["num_hidden_layers"]) if dtypes.get(name) not in _DTYPES]
    return f"its weights have no {missing[0]} of {' or '.join(_DTYPES)}" if missing else None


def _weight_names(layers: int) -> Iterator[str]:
    """Yield the names of the weights that `write_bert` reads."""
    yield from (f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type"))
    parts = [f"encoder.layer.{layer}.{part}" for layer in range(layers) for part in _PARTS]
    for place in ("embeddings.LayerNorm", *parts):
        yield from (f"{place}.weight", f"{place}.bias")
