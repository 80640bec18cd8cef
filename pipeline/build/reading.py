"""The first stages of a build: sources and records are read, generators and the encoder chosen, the cost estimated."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pipeline import learning, records, sources, vectors
from pipeline.build.assessing import CHECKS_VERSION
from pipeline.build_state import SERVING_AREA, BuildContext, BuildEncoder, BuildState, serving_folder
from pipeline.encoders.export import EncoderModel, ExportUse
from pipeline.encoders.named import NAMED, is_english
from pipeline.enrichment.by_hand import HandPhrases, unread_expansions
from pipeline.enrichment.chain import FileGenerator, generators
from pipeline.enrichment.estimate import estimate
from pipeline.errors import SettingsInvalid, SnapshotInvalid
from pipeline.inspection.served_tools import ServedTools
from pipeline.store import SnapshotStore
from pipeline.vectors import Embedding
from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from router.contract import EncoderManifest, Manifest
from router.tools.foreign_text import foreign_script

_MANY = 0.1  # of a catalog's tools, or of its judged requests


def read(context: BuildContext) -> BuildState:
    """Read the catalog, choose the encoder, and estimate what the model will take.

    Raises RunAborted where the sources hold no tool, or the encoder cannot be had: before anything is paid for.
    """
    settings, clock = context.settings, context.clock
    state = _read_catalog(context)
    state.encoder = _encoder(context, state.catalog)
    clock.start("estimate", None)
    state.estimated = estimate(
        state.catalog,
        state.chain,
        settings.enrichment,
        context.ledger,
        assessed=settings.assesses,
        checks=CHECKS_VERSION,
    )
    return state


def _read_catalog(context: BuildContext) -> BuildState:
    settings, clock = context.settings, context.clock
    clock.start("read", None)
    reading = sources.read(settings, context.execution, context.last_readings.find, context.memo)
    long_label = sources.long_label_note(tool.provider for tool in reading.tools)
    for note in (*reading.notes, *filter(None, [long_label])):
        clock.note(note)
    clock.start("normalize", None)
    catalog = context.execution.run("normalize", records.catalog_records, reading.tools, context.memo)
    chain = generators(settings, context.ledger, clock, catalog)
    past = learning.past_requests(settings, catalog)
    phrases = HandPhrases.read(settings.folder, catalog)
    for note in unread_expansions(settings):
        clock.note(note)
    files = [generator for generator in chain if isinstance(generator, FileGenerator)]
    rejected = (
        *reading.rejected,
        *(row for file in files for row in (*file.rejected, *file.unknown(catalog.hashes))),
        *(past.usage.rejected if past else ()),
        *phrases.rejected,
    )
    served = ServedTools.read(context.serving, catalog.former_ids) if reading.gaps else ServedTools()
    state = BuildState(reading, catalog, chain, past, rejected, served.missing(reading, catalog.hashes), phrases)
    context.ledger.put_catalog(context.run, settings.name, catalog, (*state.skipped, *rejected))
    if not catalog.records:
        raise reading.no_tool(settings.name, rejected)
    return state


def _encoder(context: BuildContext, catalog: records.Catalog) -> BuildEncoder | None:
    """Return the encoder, exported; None where no vectors are wanted."""
    settings, clock, execution = context.settings.vectors, context.clock, context.execution
    if settings.encoder != "none":
        clock.start("resolve", None)
    # An experiment's own store serves nobody.
    store = context.store if context.area == SERVING_AREA else SnapshotStore(context.workspace, context.settings.name)
    serving = encoder_serving(serving_folder(store), clock.note)
    model = execution.run("resolve", vectors.resolve_encoder, settings, clock, serving)
    if (change := encoder_change(context.serving, model)) is not None:
        clock.note(change)
    if model is None:
        return None
    if (advice := multilingual_advice(model, catalog, judged_requests(context))) is not None:
        clock.note(advice)
    storage = execution.storage.lasting if execution.storage else None
    cache = vectors.user_cache(model, context.workspace, clock, storage)
    reference = vectors.ReferenceEncoder(model, settings.batch_size)
    # Now: where it cannot be made, the build stops before it asks anything.
    export = execution.run("export", partial(vectors.export_encoder, model, settings.precision, reference, cache))
    embedding = Embedding(export, settings.batch_size, context.ledger, execution, clock, context.scratch)
    return BuildEncoder(embedding, ExportUse(export.folder))


def judged_requests(context: BuildContext) -> Sequence[Judgement]:
    """Return the catalog's judged requests; none where they cannot be read, which the regression gate reports."""
    file = judgements_of(context.settings.folder)
    try:
        return read_judgements(file) if file else ()
    except SettingsInvalid:
        return ()


def multilingual_advice(model: EncoderModel, catalog: records.Catalog, judged: Sequence[Judgement]) -> str | None:
    """Return what to say where the encoder is made for English, and many tools or judged requests are not English."""
    requests = [foreign_script(judgement.request) != "" for judgement in judged]
    counts = (("tools", len(catalog.unread), len(catalog.records)), ("judged requests", sum(requests), len(requests)))
    for kind, others, of in counts if is_english(model.name) else ():
        if others and others >= _MANY * of:
            name, megabytes = NAMED["multilingual"]
            to_take = f'encoder = "multilingual" is {name}, {megabytes} MB, once'
            return f"{others:,} of {of:,} {kind} are not English, for which {model.name} is made: {to_take}"
    return None


def encoder_serving(serving: Path | None, tell: Callable[[str], object] = lambda text: None) -> EncoderManifest | None:
    """Return the encoder of the snapshot in a folder; None without one, and where it cannot be read, which is told."""
    try:
        return Manifest.read(serving).encoder if serving is not None else None
    except SnapshotInvalid as error:
        tell(f"the encoder of the snapshot that serves is not known, so that auto cannot keep it: {error}")
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
