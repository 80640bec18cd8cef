"""Chooses the encoder model of a build and finds its files."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.encoders.delta import read_delta
from pipeline.encoders.export import (
    INSTALL_PACKAGED,
    PACKAGED,
    TOOLS_ENCODER,
    EncoderModel,
    describe_model,
    packaged_folder,
    tools_folder,
)
from pipeline.encoders.named import NAMED, full_name
from pipeline.errors import RunAborted
from pipeline.progress import Progress
from pipeline.settings import VectorSettings
from router.contract import EncoderManifest
from router.errors import EncoderInvalid
from router.retrieval.retrievers.lance_candidates import NO_LANCEDB


def resolve_encoder(
    settings: VectorSettings, progress: Progress, serving: EncoderManifest | None = None
) -> EncoderModel | None:
    """Return the encoder that the settings name; None where vectors are not wanted.

    "auto" is that of the snapshot that serves, `serving`, at first the one that needs no download. Raises RunAborted
    where it cannot be had, its files are not those of a sentence encoder, or the engine that is to hold its vectors is
    not installed.
    """
    wanted = full_name(settings.encoder)
    if wanted == "none":
        return None
    if settings.engine == "lancedb" and find_spec("lancedb") is None:
        raise RunAborted(f"vectors.engine = 'lancedb': {NO_LANCEDB}")
    is_auto = wanted == "auto"
    if is_auto and serving is not None:
        wanted = serving.model
    elif is_auto:
        wanted, (bge, megabytes) = TOOLS_ENCODER, NAMED["bge"]
        progress.note(
            f"encoder: {wanted}, which needs no download. For {bge}, --encoder bge or vectors.encoder = "
            f'"bge": {megabytes} MB, once'
        )
    find = partial(_find, progress=progress, may_ask=not is_auto)
    try:
        model = describe_model(wanted, find(wanted), settings.query_prefix, find)
        if is_auto and serving is not None and model.revision != serving.revision:
            model = _of_revision(model, serving.revision, settings.query_prefix, find, progress)
    except EncoderInvalid as error:
        raise RunAborted(str(error)) from error
    return model if settings.document_prefix is None else replace(model, document_prefix=settings.document_prefix)


def _of_revision(
    model: EncoderModel, revision: str, query_prefix: str | None, find: Callable[[str], Path], progress: Progress
) -> EncoderModel:
    """Return the model as it is in that commit of the hub's cache whose files have a revision.

    Another program may have moved the branch since. Without such a commit, and for a model that is not of the hub, the
    model itself is returned, and a note says so.
    """
    commits, name = model.saved_in.parent, model.name.partition("@")[0]
    for commit in sorted(commits.iterdir()) if commits.name == "snapshots" else ():
        with suppress(EncoderInvalid, RunAborted):
            found = describe_model(model.name, find(f"{name}@{commit.name}"), query_prefix, find)
            if found.revision == revision:
                return found
    progress.note(f"the files of {model.name} are others than those of the snapshot that serves: all is embedded anew")
    return model


def _find(wanted: str, progress: Progress, may_ask: bool) -> Path:
    if wanted == PACKAGED:
        if (folder := packaged_folder()) is None:
            raise RunAborted(f"the encoder {PACKAGED} is not installed: {INSTALL_PACKAGED}")
        return folder
    if wanted == TOOLS_ENCODER:
        return tools_folder()
    if Path(wanted).is_dir():
        return Path(wanted)
    from pipeline.vectors.download import find_on_hub  # late: few builds need it

    return find_on_hub(wanted, progress, may_ask=may_ask)


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
