"""What the stages of a build share: where it reads and writes, and all that they gather for its snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import ExportUse
from pipeline.enrichment import Enrichment, Generator
from pipeline.enrichment.by_hand import HandPhrases
from pipeline.enrichment.estimate import Estimate
from pipeline.errors import RecordRejected, SnapshotInvalid
from pipeline.execution import Execution
from pipeline.learning import LearnedAdapter, PastRequests, ReusedCalibration
from pipeline.ledger import Ledger, QuarantinedTool
from pipeline.ledger.source_readings import SourceReadings
from pipeline.memo import Memo
from pipeline.progress import StageClock
from pipeline.records import Catalog
from pipeline.scratch import ScratchFolder
from pipeline.settings import CatalogSettings
from pipeline.sources import Gap, Reading
from pipeline.store import SharedStore, WritableStore
from pipeline.vectors import CatalogVectors, Embedding
from router.contract import EncoderManifest
from router.signing.ed25519 import Signer
from router.store import current_folder
from router.tools.field_text import FieldDocuments
from router.tools.prerequisites.matching import Prerequisite

Outcome = Literal["published", "unchanged", "held", "failed"]
SERVING_AREA = "snapshots"  # builds of another area are experiments


@dataclass(frozen=True)
class BuildContext:
    """One build: its settings, where it reads and writes, its `run` in the ledger, who carries out and times stages.

    `scratch` holds what need not outlive the build, `memo` what earlier builds computed of each tool. `area` is as in
    the runs of the ledger. `signer` signs the snapshot; None signs none.
    """

    settings: CatalogSettings
    workspace: Path
    store: WritableStore
    ledger: Ledger
    run: int
    execution: Execution
    clock: StageClock
    scratch: ScratchFolder
    area: str = SERVING_AREA
    signer: Signer | None = None
    memo: Memo = field(default_factory=Memo)

    @property
    def serving(self) -> Path | None:
        """Return the folder of the snapshot that serves; None where none does."""
        return serving_folder(self.store)

    @property
    def last_readings(self) -> SourceReadings:
        """Return what the catalog's sources gave last, as the ledger has it."""
        return self.ledger.source_readings(self.settings.name, self.area, self.serving, self.clock.note)


def serving_folder(store: WritableStore) -> Path | None:
    """Return the folder of the snapshot that serves; None where none does.

    In a store that other builds may publish into it is the one that served when this build began. Raises
    StoreUnavailable where a store elsewhere does not answer: a build must not take that for nothing.
    """
    try:
        if not isinstance(store, SharedStore):
            return current_folder(store)
        return store.local_folder(store.base) if store.base is not None else None
    except SnapshotInvalid:
        return None


@dataclass(frozen=True, slots=True)
class MissingTools:
    """Sources without tools, each with the number of serving tools that are missing for it.

    `sources` counts all sources of the catalog, `serving` all tools of the serving snapshot.
    """

    gaps: tuple[Gap, ...] = ()
    sources: int = 1
    serving: int = 0

    @property
    def skipped(self) -> tuple[Gap, ...]:
        """Return the sources that could not be read."""
        return tuple(gap for gap in self.gaps if gap.skipped)

    @property
    def empty(self) -> tuple[Gap, ...]:
        """Return the sources that hold no tool."""
        return tuple(gap for gap in self.gaps if not gap.skipped)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict: the number of sources, and those that were skipped or are empty."""
        lists = {"skipped": self.skipped, "empty": self.empty}
        return {"sources": self.sources, **{name: [gap.to_json() for gap in gaps] for name, gaps in lists.items()}}


@dataclass(frozen=True, slots=True)
class ToolDifference:
    """The ids of the tools that differ from those of `snapshot`, each list sorted.

    Where none served before, `snapshot` is None and every tool is new.
    """

    snapshot: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = f"{len(self.added):,} new, {len(self.changed):,} changed, {len(self.removed):,} removed"
        return f"{counts} since {self.snapshot}" if self.snapshot else f"{counts}: no snapshot served before"


@dataclass(frozen=True)
class BuildEncoder:
    """The encoder of a build: the embedding of texts through the ledger, and the use of the export that embeds them."""

    embedding: Embedding
    use: ExportUse  # for as long as the build may link the export's files


@dataclass
class BuildState:
    """All that a build gathers; each stage fills in its part, and later ones read it.

    Attributes:
        reading: What the sources gave.
        catalog: Their records.
        chain: The generators to ask, in order.
        past: Past requests to learn from; None where the settings name none.
        rejected: The records, expansions and past requests that could not be used.
        missing: The sources that gave no tool.
        phrases: Those of phrases.jsonl, which stand beside what the generators write.
        encoder: None without vectors.
        estimated: What the model's part was expected to take.
        enrichment: The expansions that passed all checks.
        documents: The texts that each tool is found by.
        phrase_keys: The keys of the phrases that the query adapter is learned from; None where none is wanted.
        adapter: The query adapter: that of the snapshot that serves where few phrases changed, else the one learned.
        calibration: The abstention calibration of the snapshot that serves; None where it cannot be reused.
        quarantined: The tools that are held back: catalog, enrichment and documents are without them.
        distrusted: The tools whose records steered the model, where too many did to publish any.
        content_hash: The hash of all that decides the snapshot's answers.
        inputs_hash: The same without what is reused of the snapshot that serves.
        held: All reasons against serving the snapshot.
        decided: Those of them that are an operator's decisions.
        degraded: What the build went without.
        difference: The tools compared with those of the snapshot that serves.
        encoder_before: The encoder of that snapshot.
        vectors: The catalog's vectors; None without an encoder.
        prerequisites: Which tools must run before which; None where the recipe has no use for them.
        snapshot: The folder of the snapshot that the build ends with.
        outcome: How the build ended, as in `BuildReport`; so are the next three.
        removed: Old snapshots that were deleted.
        written_bytes: Bytes on disk of the new snapshot that no other file shares.
        freed_bytes: Bytes on disk that old snapshots gave back.
    """

    reading: Reading
    catalog: Catalog
    chain: Sequence[Generator]
    past: PastRequests | None
    rejected: tuple[RecordRejected, ...]
    missing: MissingTools
    phrases: HandPhrases = field(default_factory=HandPhrases)
    encoder: BuildEncoder | None = None
    estimated: Estimate = field(default_factory=Estimate)
    enrichment: Enrichment = field(default_factory=Enrichment)
    documents: Sequence[FieldDocuments] = ()
    phrase_keys: NDArray[np.uint64] | None = None
    adapter: LearnedAdapter | None = None
    calibration: ReusedCalibration | None = None
    quarantined: Sequence[QuarantinedTool] = ()
    distrusted: Sequence[str] = ()
    content_hash: str = ""
    inputs_hash: str = ""
    held: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    difference: ToolDifference = field(default_factory=ToolDifference)
    encoder_before: EncoderManifest | None = None
    vectors: CatalogVectors | None = None
    prerequisites: Sequence[Prerequisite] | None = None
    snapshot: Path = Path()
    outcome: Outcome = "published"
    removed: tuple[str, ...] = ()
    written_bytes: int = 0
    freed_bytes: int = 0

    @property
    def skipped(self) -> tuple[RecordRejected, ...]:
        """Return the sources that could not be read, as rejected records."""
        return tuple(gap.rejection() for gap in self.missing.skipped)
