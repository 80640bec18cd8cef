"""A reference implementation of BERT in numpy, which exported graphs are checked against.

It shares only the weights with the graph, and no kernel with ONNX Runtime.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export.bert import load_config, load_weights
from pipeline.encoders.export.model import EncoderModel

Array = NDArray[np.float32]

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: erf within 1.5e-7.
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911


class NumpyBert:
    """Turns token ids into vectors, one text at a time. `unsupported_reason` of the model must be None."""

    def __init__(self, model: EncoderModel) -> None:
        self._pooling = model.pooling
        self._config: Mapping[str, Any] = load_config(model)
        self._weights = load_weights(model)
        self._epsilon = float(self._config.get("layer_norm_eps", 1e-12))

    def vector(self, ids: Sequence[int]) -> Array:
        """Return the L2-normalised vector of one text's token ids, float32 of shape (dim,)."""
        tokens = self._embed(ids)
        for layer in range(self._config["num_hidden_layers"]):
            tokens = self._layer(f"encoder.layer.{layer}", tokens)
        pooled = tokens[0] if self._pooling == "cls" else getattr(tokens, self._pooling)(axis=0)
        vector: Array = pooled / max(float(np.linalg.norm(pooled)), 1e-12)
        return vector

    def _embed(self, ids: Sequence[int]) -> Array:
        words, places, kinds = (
            self._weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        return self._norm("embeddings", words[list(ids)] + places[: len(ids)] + kinds[0])

    def _layer(self, place: str, x: Array) -> Array:
        heads = self._config["num_attention_heads"]
        query, key, value = (
            self._dense(f"{place}.attention.self.{part}", x).reshape(len(x), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        attended = (shares @ value).transpose(1, 0, 2).reshape(len(x), -1)
        x = self._norm(f"{place}.attention.output", x + self._dense(f"{place}.attention.output.dense", attended))
        inner = _gelu(self._dense(f"{place}.intermediate.dense", x))
        return self._norm(f"{place}.output", x + self._dense(f"{place}.output.dense", inner))

    def _dense(self, name: str, x: Array) -> Array:
        output: Array = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return output

    def _norm(self, name: str, x: Array) -> Array:
        centered = x - x.mean(axis=-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        output: Array = scaled * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]
        return output


def _gelu(x: Array) -> Array:
    magnitude = np.abs(x) / np.float32(np.sqrt(2))
    t = 1 / (1 + np.float32(_ERF_P) * magnitude)
    series = np.zeros_like(t)
    for factor in reversed(_ERF):
        series = (series + np.float32(factor)) * t
    erf = np.sign(x) * (1 - series * np.exp(-(magnitude**2)))
    return np.asarray(x * (1 + erf) / 2, np.float32)
