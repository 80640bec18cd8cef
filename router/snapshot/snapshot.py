"""The opened snapshot: verified and memory-mapped from disk, or made in memory (`router.snapshot.memory`).

It is read-only. A folder that is incomplete, corrupt or of another version raises SnapshotInvalid.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from router import contract, text
from router.contract import LEXICAL_SIGNALS, Manifest, Signal, read_manifest
from router.encoding.encoder import Encoder
from router.errors import SettingsInvalid, SnapshotInvalid
from router.process import cores
from router.refusals import damage_refused
from router.retrieval.implicit_needs import ImplicitNeedTools
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.retrieval.recipe import Recipe
from router.retrieval.registry import open_retrievers
from router.retrieval.retrievers import Admitted, DenseRetriever, Lexical, Retriever
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot import loading
from router.snapshot.listed_files import require_listed
from router.snapshot.loading import TokenCounts
from router.snapshot.opened_files import open_files, verify
from router.snapshot.overlay import Overlay
from router.snapshot.record_store import ToolEntries
from router.snapshot.store.pointer import snapshot_folder


def verify_checksums(folder: Path, files: Mapping[str, str]) -> None:
    """Compare files with their sha256 checksums, by name. Raises SnapshotInvalid for the first that differs."""
    for name, expected in files.items():
        verify(folder, name, expected)


def _served_files(manifest: Manifest) -> Mapping[str, str]:
    """Return the checksums of all but `catalog.duckdb`, which no router reads and may be the largest."""
    return {name: sha for name, sha in manifest.files.items() if name != contract.CATALOG_DB}


@dataclass(frozen=True)
class Snapshot:
    """An opened snapshot. Everything in it is immutable and safe to read from many threads.

    `retrievers` are in the order of `Signal`. An ordinal is a tool's row in every array. `folder` is None in memory.
    `tokens` are those of each tool as a model is given it. `expanded` has the `Expanded` mark of each tool; None where
    all have an expansion. `adapter` is the query adapter, float32 (dim, dim). `duplicates` has for each tool the first
    ordinal of its duplicates; None where there are none. `prerequisites` says which tools need which, None where none
    does. `implicit_needs` are the tools that meet those. `non_english` marks the tools with one in another language;
    None where all are English. `served` masks the ordinals that are tools; None where all are, as without
    an overlay.
    """

    folder: Path | None
    manifest: Manifest
    recipe: Recipe
    records: ToolEntries
    tokens: TokenCounts
    retrievers: Mapping[Signal, Retriever]
    encoder: Encoder | None
    expanded: NDArray[np.uint8] | None = None
    adapter: NDArray[np.float32] | None = None
    duplicates: NDArray[np.int64] | None = None
    prerequisites: PrerequisiteGraph | None = None
    background_scores: BackgroundScores | None = None
    calibrations: tuple[Calibration, ...] = ()
    implicit_needs: ImplicitNeedTools = field(default_factory=ImplicitNeedTools)
    non_english: NDArray[np.bool_] | None = None
    served: Admitted | None = None
    overlay: Overlay = field(default_factory=Overlay)
    # What `router.snapshot.restriction` made of this snapshot: it goes with it.
    restrictions: "dict[str, Snapshot]" = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        check: bool = True,
        whole: bool = False,
        before: "Snapshot | None" = None,
        inspect: Callable[[Path, bytes, Manifest], object] | None = None,
    ) -> "Snapshot":
        """Open a snapshot's folder, or a catalog's folder with CURRENT. Raises SnapshotInvalid.

        The checksum of every file that a router reads is verified; `whole` verifies `catalog.duckdb` too.
        `check=False` skips the checksums, for a snapshot that this process has just verified. The encoder of `before`,
        an opened snapshot, is shared where it is the same: a reload then neither holds it in memory twice nor stops
        every thread for the tenth of a second that a tokenizer takes to load. `inspect` is called with the folder, the
        manifest's bytes and the manifest before anything else is read, and raises where it must not be opened.
        """
        folder = snapshot_folder(Path(path))
        data, manifest = read_manifest(folder)  # the bytes are what a signature covers
        if inspect is not None:
            inspect(folder, data, manifest)
        if manifest.versions.get("text") != text.TEXT_VERSION:
            raise SnapshotInvalid(
                f"{folder} was indexed with text version {manifest.versions.get('text')}, "
                f"this router analyses with {text.TEXT_VERSION}: build the catalog again"
            )
        with damage_refused(f"{folder} cannot be read"):
            require_listed(folder, manifest, whole=whole)
        if check and whole:
            verify_checksums(folder, {contract.CATALOG_DB: manifest.files[contract.CATALOG_DB]})
        try:
            recipe = Recipe.from_json(manifest.recipe)
        except SettingsInvalid as error:
            raise SnapshotInvalid(f"{folder}: {error}") from error
        with (
            damage_refused(f"{folder} cannot be opened"),
            open_files(
                folder,
                _served_files(manifest),
                renamed=manifest.renamed,
                check=check,
                # One a core, with the caller's; a reload leaves the other cores to the requests.
                threads=cores() - 1 if before is None else 0,
                meanwhile=partial(loading.import_libraries, manifest),
            ) as opened,
        ):
            records = loading.load_records(opened, manifest)
            tools = len(records)
            background_scores, calibrations = loading.load_calibration(opened, manifest, tools)
            shared = before is not None and loading.encoder_identity(before.manifest) == loading.encoder_identity(
                manifest
            )
            return cls(
                folder=folder,
                manifest=manifest,
                recipe=recipe,
                records=records,
                tokens=TokenCounts.open(opened, manifest, records),
                retrievers=open_retrievers(opened, manifest, tools),
                encoder=before.encoder if before and shared else loading.open_encoder(opened, manifest),
                expanded=loading.load_expansion_marks(opened, manifest, tools),
                non_english=loading.load_non_english(opened, manifest, tools),
                adapter=loading.load_adapter(opened, manifest),
                duplicates=loading.load_duplicates(opened, manifest, tools),
                prerequisites=loading.load_prerequisites(opened, manifest, tools),
                background_scores=background_scores,
                calibrations=calibrations,
                implicit_needs=loading.load_implicit_needs(opened, manifest, tools),
            )

    @cached_property
    def lexical(self) -> Mapping[Signal, Lexical]:
        """Return the retrievers of the lexical signals."""
        return {s: cast(Lexical, retriever) for s, retriever in self.retrievers.items() if s in LEXICAL_SIGNALS}

    @cached_property
    def dense(self) -> DenseRetriever | None:
        """Return the dense retriever, which also compares phrases and documents; None without vectors."""
        return cast(DenseRetriever | None, self.retrievers.get(Signal.DENSE))

    @property
    def token_counts(self) -> NDArray[np.int32]:
        """Return the tokens of every tool, int32 (tools, forms, details), for study; an answer takes `tokens.of`."""
        return self.tokens.table()

    def restrict_to_served(self, admitted: Admitted | None) -> Admitted | None:
        """Return the admitted tools that are also served; None where that is every ordinal."""
        if self.served is None or admitted is None:
            return self.served if admitted is None else admitted
        return Admitted(admitted.mask & self.served.mask)
