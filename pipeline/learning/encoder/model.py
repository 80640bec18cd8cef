"""Load the model that is trained, encode by it, and save what has become of it."""

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel
from pipeline.errors import RunAborted
from pipeline.vectors.sentence_transformer import load_sentence_transformer
from router.distribution import install_command

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

_BATCH = 32


def load_model(base: EncoderModel, for_training: bool = False) -> Any:
    """Return a SentenceTransformer. Raises RunAborted where torch is not installed, or it cannot be loaded."""
    if util.find_spec("sentence_transformers") is None:
        raise RunAborted(f"an encoder is trained with torch: {install_command('models')} brings it")
    # The gradient of fused attention over short texts takes longer than all else.
    return load_sentence_transformer(base, {"attn_implementation": "eager"} if for_training else None)


def has_bfloat16() -> bool:
    """Return whether the processor has units for bfloat16: with them, training takes half of the time."""
    import torch

    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def bfloat16_autocast() -> AbstractContextManager[object]:
    """Return a context in which torch multiplies in bfloat16, where the processor has units for it."""
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16())


def encode(model: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return L2-normalised vectors of texts, float32 of shape (texts, dim)."""
    model.eval()
    vectors: NDArray[np.float32] = model.encode(
        list(texts), batch_size=_BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
    )
    return vectors.astype(np.float32, copy=False)


def move_back(model: Any, untrained: Any, share: float) -> None:
    """Keep a share of what training changed of a model's weights (WiSE-FT: Wortsman et al., CVPR 2022)."""
    import torch

    others = dict(untrained.named_parameters())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.lerp_(others[name], 1 - share)


def save_model(model: Any, folder: Path, base: EncoderModel, write_card: Callable[[Path], object]) -> None:
    """Write a model as sentence-transformers reads it, with a card; the folder is there complete, or not at all.

    The query prefix of the base is among its files, because a folder's name may not tell it.
    """
    making = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    making.parent.mkdir(parents=True, exist_ok=True)
    if base.query_prefix:
        model.prompts = {**model.prompts, "query": base.query_prefix}
    model.save(str(making), create_model_card=False)
    write_card(making)
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)
