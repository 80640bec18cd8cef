"""The first stages of a build: sources and records are read, generators and the encoder chosen, the cost estimated."""

from pathlib import Path

from pipeline import learning, records, sources, vectors
from pipeline.build.assessing import CHECKS_VERSION
from pipeline.build_state import BuildContext, BuildEncoder, BuildState
from pipeline.enrichment.by_hand import HandPhrases, unread_expansions
from pipeline.enrichment.chain import FileGenerator, generators
from pipeline.enrichment.estimate import estimate
from pipeline.errors import SnapshotInvalid
from pipeline.inspection.served_tools import ServedTools
from pipeline.vectors import Embedding, EncoderExports, EncoderModel
from router.contract import EncoderManifest, Manifest


def read(context: BuildContext) -> BuildState:
    """Read the catalog, choose the encoder, and estimate what the model will take.

    Raises RunAborted where the sources hold no tool, or the encoder cannot be had: before anything is paid for.
    """
    settings, clock = context.settings, context.clock
    state = _read_catalog(context)
    state.encoder = _encoder(context)
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
    reading = sources.read(settings, context.execution, context.last_readings, context.memo)
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


def _encoder(context: BuildContext) -> BuildEncoder | None:
    """Return the encoder, exported; None where no vectors are wanted."""
    settings, clock, execution = context.settings.vectors, context.clock, context.execution
    if settings.encoder != "none":
        clock.start("resolve", None)
    model = execution.run("resolve", vectors.resolve_encoder, settings, clock)
    if (change := encoder_change(context.serving, model)) is not None:
        clock.note(change)
    if model is None:
        return None
    storage = execution.storage.lasting if execution.storage else None
    exports = EncoderExports(settings, model, execution, vectors.user_cache(model, context.workspace, clock, storage))
    exports.of_requests()  # now: where it cannot be made, the build stops before it asks anything
    embedding = Embedding(
        model, exports.of_tools(), settings.batch_size, context.ledger, execution, clock, context.scratch
    )
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
