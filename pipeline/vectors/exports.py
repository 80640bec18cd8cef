"""The router's copies of the encoder, exported to ONNX: a plain BERT without torch, any other model with it.

An export is checked against the model as its authors run it, by sentence-transformers in fp32.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property, partial
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel, Export, ExportCache, cache_folder
from pipeline.encoders.export.bert import unsupported_reason
from pipeline.encoders.export.model import read_json
from pipeline.encoders.export.onnx_export import export
from pipeline.errors import RunAborted
from pipeline.progress import Progress
from pipeline.vectors.model import load_sentence_transformer
from router.contract import ENCODER_TOKENS
from router.errors import EncoderInvalid
from router.process import silence_onnxruntime


def user_cache(model: EncoderModel, workspace: Path, progress: Progress, storage: Path | None = None) -> ExportCache:
    """Return the user's cache of exports, with the workspace as the fallback for a folder that cannot be written.

    Where workers are on other machines, the exports are in the `storage` that they share with the build.
    """
    folders = [storage / "encoders"] if storage else [cache_folder(), workspace / "encoders"]
    stage = "export" if unsupported_reason(model) is None else "trace"
    return ExportCache(folders, progress.note, partial(progress.start, stage, None))


def export_encoder(model: EncoderModel, precision: str, reference: "ReferenceEncoder", cache: ExportCache) -> Export:
    """Return the model's export, made where the cache has none.

    `precision` "auto" is int8 where that agrees with fp32, else fp32. Raises RunAborted where the export does not agree
    with the model, or torch is needed and not installed.
    """
    tracer = reference if util.find_spec("sentence_transformers") else None
    try:
        return export(model, precision, cache, tracer)
    except EncoderInvalid as error:
        raise RunAborted(str(error)) from error


class ReferenceEncoder:
    """Encodes and exports a model by sentence-transformers; needs torch."""

    def __init__(self, model: EncoderModel, batch_size: int) -> None:
        """Load nothing yet: torch takes seconds to import."""
        self.model = model
        self._batch_size = batch_size

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return L2-normalised vectors, float32 of shape (len(texts), dim)."""
        vectors: NDArray[np.float32] = self._loaded.encode(
            list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
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
        plain = (
            self.model.pooling == "mean"
            and kinds[:2] == ["Transformer", "Pooling"]
            and kinds[2:] in ([], ["Normalize"])
        )
        outputs = ["vector", ENCODER_TOKENS] if plain else ["vector"]
        length = {0: "batch", 1: "length"}
        axes = {"input_ids": length, "attention_mask": length, "vector": {0: "batch"}, ENCODER_TOKENS: length}
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
        if (dim := model.get_embedding_dimension()) != self.model.dim:
            raise RunAborted(f"the encoder {self.model.name} gives {dim} dimensions, its files say {self.model.dim}")
        return model


def _fuse(path: Path, model: EncoderModel) -> None:
    """Fuse the layers of a BERT into ONNX Runtime's own operators: an int8 request takes .82 to .90 of the time."""
    config = read_json(model.folder / "config.json")
    if config.get("model_type") != "bert" or not {"num_attention_heads", "hidden_size"} <= config.keys():
        return
    silence_onnxruntime()
    from onnxruntime.transformers import optimizer

    heads, size = config["num_attention_heads"], config["hidden_size"]
    fused = optimizer.optimize_model(str(path), "bert", heads, size, opt_level=0, use_gpu=False)
    fused.save_model_to_file(str(path))
