"""Write a trained encoder: a delta over its base where one was trained, else all of its weights."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pipeline.encoders.delta import DeltaHeader, Factors, read_delta, read_header, write_checksums, write_delta
from pipeline.encoders.export import PACKAGED, WEIGHTS_FILE, EncoderModel, packaged_folder
from pipeline.errors import RunAborted
from pipeline.vectors.model import load_sentence_transformer
from quartermaster.training.requests import TrainingPlan
from quartermaster.training.trainer import SCALE
from router.fingerprint import file_sha256


def save_model(model: Any, base: EncoderModel, plan: TrainingPlan, making: Path, folder: Path) -> None:
    """Write a share of what training changed into `making`, a folder beside `folder`, which it will become.

    The share is that of the plan (WiSE-FT: Wortsman et al., CVPR 2022). The prefixes of the base are among the files,
    because a folder's name may not tell them. Raises RunAborted where nothing has changed.
    """
    if plan.rank:
        if not (deltas := dict(_factors(model, plan.share))):
            raise RunAborted(f"training has changed nothing of {base.name}: give a higher --rate, or more --steps")
        _save_delta(deltas, base, making, folder)
        return
    untrained = dict(load_sentence_transformer(base).named_parameters())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.lerp_(untrained[name], 1 - plan.share)
    model.prompts = {**model.prompts, "query": base.query_prefix, "document": base.document_prefix}
    model.save(str(making), create_model_card=False)


def _factors(model: Any, share: float) -> Iterator[tuple[str, Factors]]:
    """Yield a share of the deltas by the names of their linear maps, in float16; none of a map whose delta is zero."""
    for name, module in model.transformers_model.named_modules():
        if hasattr(module, "lora_A"):
            weights = module.lora_A["default"].weight, share * module.lora_B["default"].weight
            down, up = (weight.detach().numpy().astype(np.float16) for weight in weights)
            if up.any() and down.any():
                yield name, (down, up)


def _save_delta(deltas: dict[str, Factors], base: EncoderModel, making: Path, folder: Path) -> None:
    """Write deltas with their checksums. Over a base that is a delta itself, both become one over the plain base."""
    factors = deltas if base.delta is None else _joined(base.delta, deltas)
    rank = max(len(down) for down, _ in factors.values())
    weights = file_sha256(base.folder / WEIGHTS_FILE)
    making.mkdir(parents=True)
    write_delta(making, DeltaHeader(_reference(base, folder), weights, SCALE, rank, base.query_prefix), factors)
    write_checksums(making)


def _joined(held: Path, deltas: dict[str, Factors]) -> dict[str, Factors]:
    """Return the sum of the delta in a file and of others as one: their factors side by side, for one scale."""
    first = read_delta(held)
    ratio = np.float32(first.header.scale / SCALE)  # a power of two between our own, so nothing is rounded
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
