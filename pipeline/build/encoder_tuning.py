"""The encoder that a catalog fine-tunes: reused where little has changed, else trained before the snapshot is written.

Phrases are checked by the encoder as it came, so what is learned from never depends on what was learned.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline import learning, vectors
from pipeline.build.context import BuildContext
from pipeline.build.stores import SERVING_AREA
from pipeline.enrichment import Enrichment
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.records import Catalog
from pipeline.vectors import Embedding, EncoderExports, EncoderModel
from quartermaster.evaluation import judgements_of, read_judgements
from router.tools.field_text import FieldDocuments


@dataclass(frozen=True)
class BuildEncoder:
    """The encoder of a build: its exports, and the embedding of texts through the ledger."""

    exports: EncoderExports
    embedding: Embedding


@dataclass(frozen=True)
class TunedEncoder:
    """What is known of the tuned encoder before the snapshot is written.

    `base` is the encoder as it came. `reused` is what the serving snapshot learned, None where an encoder has to be
    trained. `serving` is the tuned encoder that serves, whether it is reused or not.
    """

    base: BuildEncoder
    found: learning.CatalogPairs
    root: Path
    reused: learning.ReusedEncoder | None
    serving: BuildEncoder | None

    @property
    def key(self) -> str:
        """The name of what would be trained."""
        return learning.tuned_key(self.base.embedding.model, self.found.keys)

    @property
    def reused_encoder(self) -> BuildEncoder | None:
        """The encoder of the snapshot, where nothing has to be trained."""
        if self.reused is None:
            return None
        return self.base if self.reused.model is None else self.serving

    def content(self) -> str:
        """Return the name of what was trained, or will be: part of the content hash."""
        return self.key if self.reused is None else str(self.reused.evidence["key"])


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


def tuned_encoder_of(
    context: BuildContext,
    catalog: Catalog,
    past: learning.PastRequests | None,
    encoder: BuildEncoder | None,
    enrichment: Enrichment,
    documents: Sequence[FieldDocuments],
) -> TunedEncoder | None:
    """Return what is known of the tuned encoder; None without an encoder, or where the settings want none tuned."""
    settings = context.settings.tuning
    if encoder is None or settings.encoder == "pretrained":
        return None
    original = {tool_id for tool_id, one in enrichment.written.items() if one.generator != LexiconGenerator.name}
    found = learning.catalog_pairs(catalog, documents, original, list(_requests(context, past)))
    root = context.workspace / "tuned" / context.settings.name
    base = encoder.embedding.model
    reused = learning.reuse_encoder(context.serving, root, base, found.keys, settings.max_stale_share)
    serving = learning.serving_encoder(context.serving, root, base)
    return TunedEncoder(encoder, found, root, reused, exported_encoder(context, serving) if serving else None)


def train_or_reuse(context: BuildContext, tuned: TunedEncoder) -> tuple[BuildEncoder, learning.LearnedEncoder]:
    """Return the encoder that the snapshot gets, and what was learned: reused, or trained now."""
    if tuned.reused is not None and tuned.reused_encoder is not None:
        return tuned.reused_encoder, learning.LearnedEncoder(tuned.reused.keys, tuned.reused.evidence)
    base = tuned.base.embedding.model
    folder = learning.tuned_folder(tuned.root, base, tuned.key)
    train = partial(
        learning.fine_tune,
        base,
        tuned.found.pairs,
        tuned.found.kept,
        [query.request for query in learning.background()],
        learning.TrainingPlan(),
        tuned.key,
        folder,
        context.clock,
    )
    evidence = context.execution.run("finetune", train)
    learned = learning.LearnedEncoder(tuned.found.keys, evidence.to_json())
    if not evidence.adopted:
        context.clock.note(f"the encoder is not tuned: {evidence.skipped}")
        return tuned.base, learned
    model = learning.find_tuned(tuned.root, base, tuned.key)
    assert model is not None  # it was saved just now
    _remove_others(context, tuned, folder)
    return exported_encoder(context, model), learned


def _requests(context: BuildContext, past: learning.PastRequests | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the judged requests where the settings allow to learn from them, and the past ones, with their tools."""
    file = judgements_of(context.settings.folder) if context.settings.tuning.judged else None
    for judgement in read_judgements(file) if file else ():
        yield judgement.request, sorted(judgement.required)
    for request in past.requests if past else ():
        yield request.request, sorted(request.shares)


def _remove_others(context: BuildContext, tuned: TunedEncoder, folder: Path) -> None:
    """Remove the tuned encoders of this catalog that neither serve nor were trained now.

    An experiment removes none: it does not know what serves.
    """
    if context.area != SERVING_AREA:
        return
    serving = tuned.serving.embedding.model.saved_in if tuned.serving else None
    for other in tuned.root.iterdir():
        if other not in (folder, serving):
            shutil.rmtree(other, ignore_errors=True)
