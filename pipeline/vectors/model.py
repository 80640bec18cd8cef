"""Chooses the encoder model of a build and finds its files."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.encoders.delta import CHECKSUMS_FILE, read_delta
from pipeline.encoders.export import (
    INSTALL_PACKAGED,
    PACKAGED,
    TOOLS_ENCODER,
    EncoderModel,
    describe_model,
    packaged_folder,
    tools_folder,
)
from pipeline.errors import RunAborted
from pipeline.progress import Progress
from pipeline.settings import VectorSettings
from router.errors import EncoderInvalid
from router.retrieval.retrievers.lance_candidates import NO_LANCEDB

_FILES = ["*.json", "*.txt", "*.safetensors", "pytorch_model.bin", "[0-9]_*/*", CHECKSUMS_FILE]


def resolve_encoder(settings: VectorSettings, progress: Progress) -> EncoderModel | None:
    """Return the encoder that the settings name; None where vectors are not wanted.

    Raises RunAborted where it cannot be had, its files are not those of a sentence encoder, or the engine that is to
    hold its vectors is not installed.
    """
    wanted = settings.encoder
    if wanted == "none":
        return None
    if settings.engine == "lancedb" and find_spec("lancedb") is None:
        raise RunAborted(f"vectors.engine = 'lancedb': {NO_LANCEDB}")
    if wanted != "auto":
        return _described(wanted, settings)
    try:
        return _described(settings.preferred, settings)
    except RunAborted as error:
        model = _described(TOOLS_ENCODER, settings)
        reason = str(error).partition(" (")[0]
        progress.note(f"encoder: {TOOLS_ENCODER}, which is installed: {reason}")
        return model


def _described(wanted: str, settings: VectorSettings) -> EncoderModel:
    try:
        return describe_model(wanted, _find(wanted), settings.query_prefix, _find)
    except EncoderInvalid as error:
        raise RunAborted(str(error)) from error


def _find(wanted: str) -> Path:
    if wanted == PACKAGED:
        if (folder := packaged_folder()) is None:
            raise RunAborted(f"the encoder {PACKAGED} is not installed: {INSTALL_PACKAGED}")
        return folder
    if wanted == TOOLS_ENCODER:
        return tools_folder()
    if Path(wanted).is_dir():
        return Path(wanted)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    try:
        try:
            return Path(snapshot_download(wanted, allow_patterns=_FILES, local_files_only=True))
        except LocalEntryNotFoundError:
            return Path(snapshot_download(wanted, allow_patterns=_FILES, etag_timeout=5))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RunAborted(
            f"the encoder {wanted!r} is not a folder here, and the hub does not provide it ({reason}). "
            f"Name a folder, {TOOLS_ENCODER!r}, {PACKAGED!r}, 'auto' or 'none'"
        ) from error


def load_sentence_transformer(model: EncoderModel, options: Mapping[str, Any] | None = None) -> Any:
    """Return a SentenceTransformer on the processor, with the model's delta added to its weights.

    `options` are passed to the transformer itself. Raises RunAborted where it cannot be loaded, or the delta does not
    fit, and ImportError without sentence-transformers.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        delta = None if model.delta is None else read_delta(model.delta)
        loaded = SentenceTransformer(
            str(model.folder), device="cpu", model_kwargs=dict(options or {}), local_files_only=True
        )
        if delta is not None:
            maps = dict(linear_maps(loaded))
            with torch.no_grad():
                for name, change in delta.changes({name: tuple(one.weight.shape) for name, one in maps.items()}):
                    maps[name].weight += torch.from_numpy(change)
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
