"""The model as its authors run it, by sentence-transformers in fp32: an export is checked against it."""

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel
from pipeline.encoders.export.model import read_json
from pipeline.errors import RunAborted
from pipeline.vectors.model import load_sentence_transformer
from router.contract import ENCODER_TOKENS
from router.process import silence_onnxruntime

_TRANSFORMER = ["Transformer", "Pooling"]


class ReferenceEncoder:
    """Encodes and exports a model by sentence-transformers; needs torch."""

    def __init__(self, model: EncoderModel, batch_size: int) -> None:
        """Load nothing yet: torch alone takes seconds to import."""
        self.model = model
        self._batch_size = batch_size

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return L2-normalised vectors, float32 of shape (len(texts), dim)."""
        vectors: NDArray[np.float32] = self._loaded.encode(
            list(texts),
            batch_size=self._batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return vectors.astype(np.float32, copy=False)

    def export(self, path: Path) -> None:
        """Write the model as ONNX, pooling and normalisation inside the graph, batch and length dynamic.

        Where a vector is the mean of its tokens' vectors, those are a second output: parts of a text can be pooled.
        """
        import torch

        # Eager attention: the fused kernels, which encode a third faster, do not trace to ONNX.
        modules = self._load("eager")

        class Sentence(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.modules_in_order = torch.nn.ModuleList(modules)

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                features = {"input_ids": input_ids, "attention_mask": attention_mask}
                for module in self.modules_in_order:
                    features = module(features)
                vector = torch.nn.functional.normalize(features["sentence_embedding"], p=2, dim=1)
                return (vector, features["token_embeddings"])[: len(outputs)]

        kinds = [type(module).__name__ for module in modules]
        plain = self.model.pooling == "mean" and kinds in (_TRANSFORMER, [*_TRANSFORMER, "Normalize"])
        outputs = ["vector", ENCODER_TOKENS] if plain else ["vector"]
        axes = {
            "input_ids": {0: "batch", 1: "length"},
            "attention_mask": {0: "batch", 1: "length"},
            "vector": {0: "batch"},
            ENCODER_TOKENS: {0: "batch", 1: "length"},
        }
        example = modules.tokenizer(
            ["two texts", "of different lengths, to trace with"], padding=True, return_tensors="pt"
        )
        with warnings.catch_warnings(), torch.no_grad():
            # The tracing exporter is deprecated but exact here, as the agreement check shows each time; its successor
            # needs one package more.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Sentence().eval(),
                (example["input_ids"], example["attention_mask"]),
                str(path),
                input_names=["input_ids", "attention_mask"],
                output_names=outputs,
                dynamic_axes={name: axes[name] for name in ("input_ids", "attention_mask", *outputs)},
                opset_version=17,
                dynamo=False,
            )
        _fuse(path, self.model)

    def save_tokenizer(self, path: Path) -> None:
        """Write `tokenizer.json` for the tokenizers library."""
        self._loaded.tokenizer.backend_tokenizer.save(str(path))

    @cached_property
    def _loaded(self) -> Any:
        return self._load("sdpa")

    def _load(self, attention: str) -> Any:
        import torch

        torch.manual_seed(0)
        model = load_sentence_transformer(self.model, {"attn_implementation": attention})
        if model.get_embedding_dimension() != self.model.dim:
            raise RunAborted(
                f"the encoder {self.model.name} gives {model.get_embedding_dimension()} dimensions, "
                f"its files say {self.model.dim}"
            )
        return model


def _fuse(path: Path, model: EncoderModel) -> None:
    """Fuse the layers of a BERT into ONNX Runtime's own operators: an int8 request takes .82 to .90 of the time."""
    config = read_json(model.folder / "config.json")
    if config.get("model_type") != "bert" or not {"num_attention_heads", "hidden_size"} <= config.keys():
        return
    silence_onnxruntime()
    from onnxruntime.transformers import optimizer

    fused = optimizer.optimize_model(
        str(path),
        "bert",
        num_heads=config["num_attention_heads"],
        hidden_size=config["hidden_size"],
        opt_level=0,
        use_gpu=False,
    )
    fused.save_model_to_file(str(path))
