"""Save a trained encoder: as a delta over its base where one was trained, else by all of its weights."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from pipeline.encoders.delta import (
    DeltaHeader,
    Factors,
    read_delta,
    read_header,
    write_checksums,
    write_delta,
)
from pipeline.encoders.export import PACKAGED, WEIGHTS_FILE, EncoderModel, packaged_folder
from pipeline.learning.encoder.card import read_card
from pipeline.learning.encoder.low_rank import SCALE
from pipeline.learning.encoder.model import save_model
from pipeline.learning.encoder.model_card import write_model_card
from pipeline.learning.encoder.training import TrainedModel
from router.fingerprint import file_sha256

WriteCard = Callable[[Path], object]


def save_encoder(
    trained: TrainedModel, folder: Path, base: EncoderModel, write_card: WriteCard, share: float = 1.0
) -> None:
    """Write a trained model with its card; the folder is there complete, or not at all.

    A model that trained deltas is written as a delta, a megabyte; any other by all of its weights, and so is one whose
    base has no weights in safetensors. `share` is how far the model was moved back to its base.
    """
    deltas, model = trained.deltas, trained.model
    if deltas and (base.folder / WEIGHTS_FILE).is_file():
        save_delta(deltas, folder, base, write_card, share)
    else:
        save_model(model, folder, base, write_card)


def save_delta(
    deltas: Mapping[str, Factors], folder: Path, base: EncoderModel, write_card: WriteCard, share: float = 1.0
) -> None:
    """Write deltas over a base as an encoder's folder, with its card, model card and checksums.

    Over a base that is a delta itself, both become one over the plain base.
    """
    scale = SCALE * share
    factors = deltas if base.delta is None else _joined(base.delta, deltas, scale)
    rank = max(len(down) for down, _ in factors.values())
    weights = file_sha256(base.folder / WEIGHTS_FILE)
    header = DeltaHeader(_reference(base, folder), weights, scale, rank, base.query_prefix)
    making = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    write_delta(making, header, factors)
    write_card(making)
    write_model_card(making, folder.name, header, base, read_card(making))
    write_checksums(making)
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)


def _joined(held: Path, deltas: Mapping[str, Factors], scale: float) -> dict[str, Factors]:
    """Return the sum of the delta in a file and of others as one: their factors side by side, for one scale."""
    first = read_delta(held)
    ratio = np.float32(first.header.scale / scale)  # a power of two between our own, so nothing is rounded
    pairs: dict[str, list[Factors]] = {}
    for name, (down, up) in first.factors.items():
        pairs.setdefault(name, []).append((down, (up.astype(np.float32) * ratio).astype(np.float16)))
    for name, pair in deltas.items():
        pairs.setdefault(name, []).append(pair)
    return {
        name: (np.vstack([down for down, _ in both]), np.hstack([up for _, up in both])) for name, both in pairs.items()
    }


def _reference(base: EncoderModel, folder: Path) -> str:
    """Return how a delta in `folder` names its base: the packaged model, a model of the hub, or a relative path."""
    if base.folder == packaged_folder():
        return PACKAGED
    if base.delta is None:
        is_path, name = base.name == base.folder.name, base.name
    else:
        name = read_header(base.delta).base
        is_path = os.path.isdir(base.saved_in / name)
    return os.path.relpath(base.folder.resolve(), folder.resolve()) if is_path else name
