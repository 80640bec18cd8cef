"""Load a model, or a base with its delta, by sentence-transformers. It needs torch."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.encoders.delta import Delta, read_delta
from pipeline.encoders.export import EncoderModel
from pipeline.errors import RunAborted
from router.errors import EncoderInvalid


def load_sentence_transformer(model: EncoderModel, options: Mapping[str, Any] | None = None) -> Any:
    """Return a SentenceTransformer on the processor, with the model's delta added to its weights.

    `options` are passed to the transformer itself. Raises RunAborted where it cannot be loaded, or the delta does not
    fit, and ImportError without sentence-transformers.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        delta = None if model.delta is None else read_delta(model.delta)
        loaded = SentenceTransformer(
            str(model.folder), device="cpu", model_kwargs=dict(options or {}), local_files_only=True
        )
        if delta is not None:
            _add(delta, loaded)
    except (OSError, ValueError, RuntimeError, KeyError, EncoderInvalid) as error:
        raise RunAborted(f"the encoder {model.name} cannot be loaded: {error}") from error
    loaded.max_seq_length = model.max_length
    return loaded


def linear_maps(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the linear maps of a SentenceTransformer by name: the transformer's as its weights' file names them."""
    from torch import nn

    seen = set()
    transformer = getattr(model[0], "auto_model", None)
    for root in (transformer, model):
        for name, module in root.named_modules() if root is not None else ():
            if isinstance(module, nn.Linear) and id(module) not in seen:
                seen.add(id(module))
                yield name, module


def _add(delta: Delta, model: Any) -> None:
    """Add a delta to the weights of a SentenceTransformer. Raises EncoderInvalid where it does not fit."""
    import torch

    maps = dict(linear_maps(model))
    with torch.no_grad():
        for name, change in delta.changes({name: tuple(one.weight.shape) for name, one in maps.items()}):
            maps[name].weight += torch.from_numpy(change)
