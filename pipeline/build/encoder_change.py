"""Whether a build has another encoder than the snapshot that serves: then all that was learned is learned anew."""

from pathlib import Path

from pipeline.learning import is_tuned
from pipeline.learning.encoder.reuse import serving_manifest
from pipeline.vectors import EncoderModel
from router.contract import EncoderManifest


def encoder_serving(serving: Path | None) -> EncoderManifest | None:
    """Return the encoder of the snapshot in a folder; None without one, and where it cannot be read."""
    manifest = serving_manifest(serving)
    return manifest.encoder if manifest else None


def encoder_change(serving: Path | None, model: EncoderModel | None) -> str | None:
    """Return what to say where the snapshot that serves has vectors of another encoder; None where it has not.

    An encoder that was tuned from `model` is no other one: what it learned is reused, or trained again.
    """
    manifest = serving_manifest(serving)
    if model is None or manifest is None or manifest.encoder is None:
        return None
    tuned_from = manifest.tuning["encoder"].get("base") if is_tuned(manifest.tuning) else None
    if model.revision in (manifest.encoder.revision, tuned_from):
        return None
    return (
        f"the encoder changes from {manifest.encoder.model} (revision {manifest.encoder.revision}) to {model.name} "
        f"(revision {model.revision}): texts are embedded anew, and all that was learned is learned anew"
    )
