"""Whether a build has another encoder than the snapshot that serves: then all that was learned is learned anew."""

from pathlib import Path

from pipeline.errors import SnapshotInvalid
from pipeline.vectors import EncoderModel
from router.contract import EncoderManifest, Manifest


def encoder_serving(serving: Path | None) -> EncoderManifest | None:
    """Return the encoder of the snapshot in a folder; None without one, and where it cannot be read."""
    try:
        return Manifest.read(serving).encoder if serving is not None else None
    except SnapshotInvalid:
        return None


def encoder_change(serving: Path | None, model: EncoderModel | None) -> str | None:
    """Return what to say where the snapshot that serves has vectors of another encoder; None where it has not."""
    before = encoder_serving(serving)
    if model is None or before is None or model.revision == before.revision:
        return None
    return (
        f"the encoder changes from {before.model} (revision {before.revision}) to {model.name} (revision "
        f"{model.revision}): texts are embedded anew, and all that was learned is learned anew"
    )
