"""The encoder of a build: exported, with the embedding of texts through the ledger."""

from dataclasses import dataclass
from pathlib import Path

from pipeline import vectors
from pipeline.build.context import BuildContext
from pipeline.errors import SnapshotInvalid
from pipeline.vectors import Embedding, EncoderExports, EncoderModel
from router.contract import EncoderManifest, Manifest


@dataclass(frozen=True)
class BuildEncoder:
    """The encoder of a build: its exports, and the embedding of texts through the ledger."""

    exports: EncoderExports
    embedding: Embedding


def exported_encoder(context: BuildContext, model: EncoderModel) -> BuildEncoder:
    """Return a model as the encoder of a build, exported. Raises RunAborted where the export does not agree."""
    settings, execution = context.settings.vectors, context.execution
    storage = execution.storage.lasting if execution.storage else None
    cache = vectors.user_cache(model, context.workspace, context.clock, storage)
    exports = EncoderExports(settings, model, execution, cache)
    embedding = Embedding(
        model, exports.of_tools(), settings.batch_size, context.ledger, execution, context.clock, context.scratch
    )
    exports.of_requests()  # now: where it cannot be made, the build stops before it asks anything
    return BuildEncoder(exports, embedding)


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
