"""The state of a build after each stage: frozen values, each made by one stage and read by later ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.build.encoder import BuildEncoder
from pipeline.build.learning import TrainingSet
from pipeline.enrichment import Enrichment, Generator
from pipeline.enrichment.estimate import Estimate
from pipeline.errors import RecordRejected
from pipeline.inspection.difference import ToolDifference
from pipeline.learning import MOST_TRAINED, PastRequests, ReusedCalibration
from pipeline.publish import VERSIONS
from pipeline.publish.quality_gate import MissingTools
from pipeline.publish.quarantine import QuarantinedTool
from pipeline.records import Catalog
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading
from quartermaster.evaluation import judgements_of
from router.contract import EncoderManifest
from router.fingerprint import file_sha256, fingerprint
from router.tools.field_text import FieldDocuments


@dataclass(frozen=True)
class CatalogRead:
    """The sources, read and normalised.

    `chain` are the generators to ask, in order. `rejected` are the records, expansions and past requests that could not
    be used; `skipped` stand for the sources that could not be read.
    """

    reading: Reading
    catalog: Catalog
    chain: Sequence[Generator]
    past: PastRequests | None
    rejected: tuple[RecordRejected, ...]
    skipped: tuple[RecordRejected, ...]
    missing: MissingTools


@dataclass(frozen=True)
class ExpandedCatalog:
    """Expansions that passed all checks, the documents made of them, and what the adapter and the abstention are
    learned from or reused."""

    enrichment: Enrichment
    documents: Sequence[FieldDocuments]
    training_set: TrainingSet | None
    calibration: ReusedCalibration | None


@dataclass(frozen=True)
class BuildState:
    """All that a build has gathered before it writes a snapshot.

    `quarantined` are the tools that are held back alone: `read.catalog` and `expanded` are without them.
    """

    read: CatalogRead
    encoder: BuildEncoder | None
    estimated: Estimate
    expanded: ExpandedCatalog
    quarantined: tuple[QuarantinedTool, ...] = ()


@dataclass(frozen=True)
class SnapshotIdentity:
    """What a new snapshot would be.

    `content_hash` is the hash of all that decides its answers; `inputs_hash` leaves out what is reused of the snapshot
    that serves. `held` are all reasons against serving it, `decided` those of an operator's decisions, `degraded` is
    what the build went without, `difference` its difference from the snapshot that serves, `encoder_before` the
    encoder of that snapshot.
    """

    content_hash: str
    inputs_hash: str
    held: tuple[str, ...]
    decided: tuple[str, ...]
    degraded: tuple[str, ...]
    difference: ToolDifference
    encoder_before: EncoderManifest | None = None


@dataclass(frozen=True)
class SnapshotOutcome:
    """The snapshot that a build ends with. The other fields are as in `BuildReport`."""

    folder: Path
    outcome: str
    held: tuple[str, ...]
    removed: tuple[str, ...] = ()
    written_bytes: int = 0
    freed_bytes: int = 0


def hashes_of(settings: CatalogSettings, state: BuildState) -> tuple[str, str]:
    """Return the hash of all that decides a snapshot's answers, and that of what goes in whatever served before.

    Equal content hashes give equal rankings. The adapter and the calibration of the snapshot that serves may be reused,
    so two builds of the same inputs may differ in content.
    """
    read, expanded = state.read, state.expanded
    catalog, enrichment = read.catalog, expanded.enrichment
    model = state.encoder.embedding.model if state.encoder else None
    judgements = judgements_of(settings.folder) if settings.tuning.judged else None
    # Beside the tools' own hashes: an API that moved is no other tool, but a call must find it. Left out where there is
    # none, so that the hash of a catalog without APIs is as in earlier versions.
    operations = [(record.tool_id, record.operation.to_json()) for record in catalog.records if record.operation]
    engine = settings.vectors.engine  # with candidates of another, other tools may be missed
    inputs = {
        **({"operations": operations} if operations else {}),
        **({"engine": engine} if engine != "faiss" else {}),
        "versions": VERSIONS,
        "tools": sorted(catalog.hashes.items()),
        "expansions": {
            tool_id: [written.generator, written.model, written.expansion.to_json()]
            for tool_id, written in enrichment.written.items()
        },
        "languages": settings.enrichment.languages,
        "verdicts": [asdict(verdict) for verdict in enrichment.verdicts],
        "siblings": dict(enrichment.siblings),
        "encoder": [model.key, model.query_prefix, settings.vectors.precision] if model else None,
        "tuning": settings.tuning.content(),
        "judged": file_sha256(judgements) if judgements else None,
        "past": read.past.content() if read.past else None,
        "recipe": settings.retrieval.resolve().to_json(),
    }
    adapter = expanded.training_set.content() if expanded.training_set else None
    if adapter is not None and len(catalog.records) > MOST_TRAINED:
        adapter = f"{adapter} of {MOST_TRAINED} tools"
    # The manifest counts what is stale. No answer depends on it, so content that was rolled back from stays the same.
    stale = sorted(enrichment.stale)
    # So does what is held back; without any the hash is as in earlier versions.
    held = {"quarantined": [one.content_hash for one in state.quarantined]} if state.quarantined else {}
    content_hash = fingerprint({**inputs, "adapter": adapter, "stale": stale, **held})
    if expanded.calibration is not None:
        content_hash = expanded.calibration.named_in(content_hash)
    return content_hash, fingerprint(inputs)
