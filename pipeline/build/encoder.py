"""The encoder of a build: exported, with the embedding of texts through the ledger."""

from dataclasses import dataclass

from pipeline import vectors
from pipeline.build.context import BuildContext
from pipeline.vectors import Embedding, EncoderExports, EncoderModel


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
    exports.make()
    embedding = Embedding(
        model, exports.of_tools(), settings.batch_size, context.ledger, execution, context.clock, context.scratch
    )
    return BuildEncoder(exports, embedding)
