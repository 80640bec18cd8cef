"""A snapshot, opened: read-only, verified and memory-mapped from disk, or made in memory (`router.memory`).

On disk, anything wrong fails closed with SnapshotInvalid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router import contract, text
from router.contract import Manifest, Signal
from router.encoding.encoder import Encoder
from router.errors import SettingsInvalid, SnapshotInvalid
from router.fingerprint import file_sha256
from router.retrieval.calibration import Calibration
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import Admitted, DenseRetriever, IntentRetriever, Lexical, LexicalRetriever
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot import loading
from router.snapshot.overlay import Overlay
from router.snapshot.record_store import Entries, RecordStore
from router.snapshot.token_counts import TokenCounts


def resolve(path: Path) -> Path:
    """The snapshot's folder, given itself or a catalog's folder with CURRENT. Raises SnapshotInvalid."""
    if (path / contract.MANIFEST).is_file():
        return path
    pointer = path / contract.CURRENT
    try:
        name = pointer.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        if held := sorted(folder.parent.name for folder in path.glob(f"[!.]*/{contract.MANIFEST}")):
            raise SnapshotInvalid(
                f"{path} serves no snapshot: its newest was held back, or never published. To serve it: "
                f"quartermaster snapshots {path.name} --use {held[-1]}"
            ) from None
        problem = "has neither a manifest.json nor a CURRENT" if path.is_dir() else "does not exist"
        raise SnapshotInvalid(f"no snapshot at {path}: it {problem}; build one with `quartermaster build`") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotInvalid(f"{pointer} cannot be read: {error}") from error
    # CURRENT is one folder's name, never a path that leads elsewhere.
    if not name or name != Path(name).name or name.startswith("."):
        raise SnapshotInvalid(f"{pointer} holds {name!r}, which is not the name of a snapshot")
    if not (path / name / contract.MANIFEST).is_file():
        raise SnapshotInvalid(f"{pointer} names {name}, which is not a complete snapshot in {path}")
    return path / name


def verify(folder: Path, files: Mapping[str, str]) -> None:
    """Compare files with the manifest's checksums. Raises SnapshotInvalid on the first that differs."""
    for name, expected in files.items():
        try:
            actual = file_sha256(folder / name)
        except OSError as error:
            raise SnapshotInvalid(f"{folder / name} cannot be read: {error}") from error
        if actual != expected:
            raise SnapshotInvalid(
                f"{folder / name} is corrupt: its checksum is not the one in the manifest; roll back or rebuild"
            )


def _checked(manifest: Manifest, whole: bool) -> Mapping[str, str]:
    """The files to verify: what people read besides, which may be the largest of all, only where all is asked for."""
    return {name: sha for name, sha in manifest.files.items() if whole or name != contract.CATALOG_DB}


@dataclass(frozen=True)
class Snapshot:
    """An opened snapshot. Everything in it is immutable and safe to read from many threads.

    `folder` is None in memory. `tokens` are those of each tool as a model is given it.
    `overlay` is what lies over it (`router.snapshot.overlay.layering`). Of the ordinals then only those in `served` are
    tools; None where all are.
    """

    folder: Path | None
    manifest: Manifest
    recipe: Recipe
    records: Entries
    tokens: TokenCounts
    lexical: Mapping[Signal, Lexical]
    dense: DenseRetriever | None
    encoder: Encoder | None
    expanded: NDArray[np.uint8] | None = None
    adapter: NDArray[np.float32] | None = None
    intents: IntentRetriever | None = None
    duplicates: NDArray[np.int64] | None = None
    cohort: BackgroundScores | None = None
    calibrations: tuple[Calibration, ...] = ()
    served: Admitted | None = None
    overlay: Overlay = field(default_factory=Overlay)

    @classmethod
    def open(
        cls, path: Path, *, check: bool = True, whole: bool = False, before: "Snapshot | None" = None
    ) -> "Snapshot":
        """Open a snapshot's folder, or a catalog's folder with CURRENT.

        Every file that a router reads is held against its checksum; `whole` checks `catalog.duckdb` too.
        `check=False` skips the checksums, for a snapshot that this process has just verified. `before` is an opened
        one whose encoder is shared where it is the same: a publication then costs neither its memory twice nor the
        tenth of a second that its tokenizer holds up every thread. Raises SnapshotInvalid.
        """
        folder = resolve(Path(path))
        manifest = Manifest.read(folder)
        if manifest.versions.get("text") != text.TEXT_VERSION:
            raise SnapshotInvalid(
                f"{folder} was indexed with text version {manifest.versions.get('text')}, "
                f"this router analyses with {text.TEXT_VERSION}: build the catalog again"
            )
        if check:
            verify(folder, _checked(manifest, whole))
        try:
            recipe = Recipe.from_json(manifest.recipe)
        except SettingsInvalid as error:
            raise SnapshotInvalid(f"{folder}: {error}") from error
        offsets = loading.array(folder / contract.RECORD_OFFSETS)
        tools = len(offsets) - 1
        if tools != manifest.counts.get("tools"):
            raise SnapshotInvalid(f"{folder} holds {tools} tools, its manifest says {manifest.counts.get('tools')}")
        lines = loading.bytes_of(folder / contract.RECORDS)
        lexical = {
            signal: LexicalRetriever.open(
                folder / signal, tools, manifest.languages if signal is Signal.EXPANSION else (text.ENGLISH,)
            )
            for signal in contract.LEXICAL_SIGNALS
            if signal in manifest.signals
        }
        records = RecordStore(lines, offsets)
        tokens = TokenCounts.open(folder, manifest, records)
        cohort, calibrations = loading.fitting(folder, manifest, tools)
        shared = before is not None and loading.encoder_files(before.manifest) == loading.encoder_files(manifest)
        return cls(
            folder=folder,
            manifest=manifest,
            recipe=recipe,
            records=records,
            tokens=tokens,
            lexical=lexical,
            dense=loading.open_dense(folder, manifest, tools),
            encoder=before.encoder if before and shared else loading.open_encoder(folder, manifest),
            expanded=loading.expanded(folder, manifest, tools),
            adapter=loading.adapter(folder, manifest),
            intents=loading.intents(folder, manifest, tools),
            duplicates=loading.duplicates(folder, manifest, tools),
            cohort=cohort,
            calibrations=calibrations,
        )

    @property
    def token_counts(self) -> NDArray[np.int32]:
        """Return the tokens of every tool, int32 (tools, forms, details), for study; an answer takes `tokens.of`."""
        return self.tokens.table()

    def serving(self, admitted: Admitted | None) -> Admitted | None:
        """Of the admitted tools those that serve; None where that is every ordinal."""
        if self.served is None or admitted is None:
            return self.served if admitted is None else admitted
        return Admitted(admitted.mask & self.served.mask)
