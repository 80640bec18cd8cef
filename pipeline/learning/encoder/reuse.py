"""Reuse the tuned encoder of the snapshot that serves, while little of what it learned from has changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoders.export import EncoderModel, describe_model
from pipeline.errors import SnapshotInvalid
from pipeline.learning.adapter.reuse import Keys, changed_share, is_intact
from router.contract import Manifest
from router.errors import EncoderInvalid
from router.fingerprint import fingerprint

# Part of the key of every tuned encoder: raise it with any change to what is learned.
ENCODER_VERSION = 2
ENCODER_LEARNED_FROM = "encoder_requests.npy"  # keys of the pairs, see `CatalogPairs`


@dataclass(frozen=True)
class ReusedEncoder:
    """What the serving snapshot learned: `model` is its tuned encoder, None where none was worth it."""

    model: EncoderModel | None
    keys: Keys
    evidence: dict[str, Any]


def tuned_key(base: EncoderModel, keys: Keys) -> str:
    """Return the name of what is trained: of base, pairs and version."""
    return fingerprint([ENCODER_VERSION, base.key, base.query_prefix, keys.tolist()])[:16]


def tuned_folder(root: Path, base: EncoderModel, key: str) -> Path:
    """Return where the tuned encoder of a key lies under `root`."""
    return root / f"{Path(base.name).name}-tuned-{key}"


def find_tuned(root: Path, base: EncoderModel, key: str) -> EncoderModel | None:
    """Return a tuned encoder under `root`; None where it is not there."""
    folder = tuned_folder(root, base, key)
    if not folder.is_dir():
        return None
    try:
        # A delta's base may lie elsewhere than when it was trained.
        return describe_model(str(folder), folder, base.query_prefix, lambda name: base.folder)
    except (EncoderInvalid, OSError):
        return None


def is_tuned(tuning: Mapping[str, Any]) -> bool:
    """Return whether a manifest's evidence tells of a tuned encoder that serves."""
    evidence = tuning.get("encoder")
    return isinstance(evidence, dict) and not evidence.get("skipped")


def serving_encoder(serving: Path | None, root: Path, base: EncoderModel) -> EncoderModel | None:
    """Return the tuned encoder of the snapshot that serves; None where it has none, or not this one any more."""
    manifest = serving_manifest(serving)
    if manifest is None or manifest.encoder is None or not is_tuned(manifest.tuning):
        return None
    model = find_tuned(root, base, str(manifest.tuning["encoder"].get("key")))
    return model if model is not None and model.revision == manifest.encoder.revision else None


def reuse_encoder(
    serving: Path | None, root: Path, base: EncoderModel, keys: Keys, most: float
) -> ReusedEncoder | None:
    """Return what the serving snapshot learned, if at most the share `most` of its pairs has changed since.

    Returns None, so that an encoder is trained, where nothing serves, the base or the version is another, the tuned
    encoder is not on this machine, or `most` is 0.
    """
    manifest = serving_manifest(serving)
    evidence = manifest.tuning.get("encoder") if manifest else None
    if serving is None or manifest is None or not most or not isinstance(evidence, dict):
        return None
    if evidence.get("version") != ENCODER_VERSION or evidence.get("base") != base.revision:
        return None
    if not is_intact(serving, manifest, ENCODER_LEARNED_FROM):
        return None
    learned_from: Keys = np.load(serving / ENCODER_LEARNED_FROM, allow_pickle=False)
    share = changed_share(learned_from, keys)
    model = serving_encoder(serving, root, base)
    if share > most or (model is None and not evidence.get("skipped")):
        return None
    origin = evidence.get("taken_over", {}).get("from", manifest.snapshot)
    taken_over = {"from": origin, "changed": round(share, 4)}
    return ReusedEncoder(model, learned_from, {**evidence, "taken_over": taken_over})


def serving_manifest(serving: Path | None) -> Manifest | None:
    """Return the manifest of the snapshot in a folder; None without one, and where it cannot be read."""
    try:
        return Manifest.read(serving) if serving is not None else None
    except SnapshotInvalid:
        return None
