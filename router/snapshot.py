"""A snapshot on disk, opened read-only, verified, memory-mapped. Anything wrong fails closed with SnapshotInvalid."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router import contract, text
from router.contract import Manifest, Signal
from router.encoder import Encoder, OnnxEncoder
from router.errors import SettingsInvalid, SnapshotInvalid
from router.fingerprint import file_sha256
from router.recipe import Recipe
from router.record import ToolRecord
from router.retrievers import DenseRetriever, LexicalRetriever


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


def verify(folder: Path, manifest: Manifest) -> None:
    """Compare every file with the manifest's checksum. Raises SnapshotInvalid on the first that differs."""
    for name, expected in manifest.files.items():
        try:
            actual = file_sha256(folder / name)
        except OSError as error:
            raise SnapshotInvalid(f"{folder / name} cannot be read: {error}") from error
        if actual != expected:
            raise SnapshotInvalid(
                f"{folder / name} is corrupt: its checksum is not the manifest's; roll back or rebuild"
            )


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool as the snapshot keeps it: its record and its phrases, in the order of their vectors."""

    record: ToolRecord
    phrases: tuple[str, ...]


class RecordStore:
    """Records by ordinal: one JSON line each in a memory-mapped file, so that opening reads none of them."""

    def __init__(self, lines: Any, offsets: NDArray[np.int64]) -> None:
        self._lines = lines
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def row(self, ordinal: int) -> dict[str, Any]:
        """The stored line as a dict: record and phrases."""
        line: dict[str, Any] = json.loads(bytes(self._lines[self._offsets[ordinal] : self._offsets[ordinal + 1]]))
        return line

    def entry(self, ordinal: int) -> Entry:
        """The tool of an ordinal, 0 ≤ ordinal < len."""
        row = self.row(ordinal)
        return Entry(ToolRecord.from_json(row["record"]), tuple(row["phrases"]))

    def tool_id(self, ordinal: int) -> str:
        """The id of an ordinal."""
        return str(self.row(ordinal)["record"]["tool_id"])

    def ordinal(self, tool_id: str) -> int | None:
        """The ordinal of an id, by bisection: lines are sorted by id; None where there is no such tool."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.tool_id(middle) < tool_id:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.tool_id(low) == tool_id else None


@dataclass(frozen=True)
class Snapshot:
    """An opened snapshot. Everything in it is immutable and safe to read from many threads."""

    folder: Path
    manifest: Manifest
    recipe: Recipe
    records: RecordStore
    token_counts: NDArray[np.int64]
    lexical: dict[Signal, LexicalRetriever]
    dense: DenseRetriever | None
    encoder: Encoder | None
    expanded: NDArray[np.uint8] | None = None
    adapter: NDArray[np.float32] | None = None

    @classmethod
    def open(cls, path: Path, *, check: bool = True) -> "Snapshot":
        """Open a snapshot's folder, or a catalog's folder with CURRENT.

        `check=False` skips the checksums, for a snapshot that this process has just verified. Raises SnapshotInvalid.
        """
        folder = resolve(Path(path))
        manifest = Manifest.read(folder)
        if manifest.versions.get("text") != text.TEXT_VERSION:
            raise SnapshotInvalid(
                f"{folder} was indexed with text version {manifest.versions.get('text')}, "
                f"this router analyses with {text.TEXT_VERSION}: build the catalog again"
            )
        if check:
            verify(folder, manifest)
        try:
            recipe = Recipe.from_json(manifest.recipe)
        except SettingsInvalid as error:
            raise SnapshotInvalid(f"{folder}: {error}") from error
        offsets = _array(folder / contract.RECORD_OFFSETS)
        tools = len(offsets) - 1
        if tools != manifest.counts.get("tools"):
            raise SnapshotInvalid(f"{folder} holds {tools} tools, its manifest says {manifest.counts.get('tools')}")
        lines = np.memmap(folder / contract.RECORDS, dtype=np.uint8, mode="r")
        lexical = {
            signal: LexicalRetriever.open(
                folder / signal, tools, manifest.languages if signal is Signal.EXPANSION else (text.ENGLISH,)
            )
            for signal in contract.LEXICAL_SIGNALS
            if signal in manifest.signals
        }
        dense, encoder = _open_dense(folder, manifest, tools)
        counts = _array(folder / contract.TOKEN_COUNTS)
        expanded = _expanded(folder, manifest, tools)
        adapter = _adapter(folder, manifest)
        records = RecordStore(lines, offsets)
        return cls(folder, manifest, recipe, records, counts, lexical, dense, encoder, expanded, adapter)


def _open_dense(folder: Path, manifest: Manifest, tools: int) -> tuple[DenseRetriever | None, Encoder | None]:
    if Signal.DENSE not in manifest.signals or manifest.encoder is None:
        return None, None
    documents = _array(folder / contract.DOCUMENT_VECTORS)
    phrases = _array(folder / contract.PHRASE_VECTORS)
    offsets = _array(folder / contract.PHRASE_OFFSETS)
    dim = manifest.encoder.dim
    if documents.shape != (tools, dim) or phrases.shape != (offsets[-1], dim) or len(offsets) != tools + 1:
        raise SnapshotInvalid(
            f"{folder}: vectors of shape {documents.shape} and {phrases.shape} do not fit {tools} tools"
        )
    encoder = OnnxEncoder.open(folder / contract.ENCODER_FOLDER, manifest.encoder)
    return DenseRetriever(documents, phrases, offsets), encoder


def _expanded(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.uint8] | None:
    if Signal.EXPANSION not in manifest.signals:
        return np.full(tools, contract.Expanded.NO, np.uint8)
    if contract.EXPANDED not in manifest.files:
        return None
    marks = _array(folder / contract.EXPANDED)
    if marks.shape != (tools,) or marks.dtype != np.uint8:
        raise SnapshotInvalid(f"{folder}: marks of shape {marks.shape} ({marks.dtype}) do not fit {tools} tools")
    return marks


def _adapter(folder: Path, manifest: Manifest) -> NDArray[np.float32] | None:
    if contract.ADAPTER not in manifest.files:
        return None
    adapter = _array(folder / contract.ADAPTER)
    dim = manifest.encoder.dim if manifest.encoder else 0
    if adapter.shape != (dim, dim) or adapter.dtype != np.float32:
        raise SnapshotInvalid(
            f"{folder}: an adapter of shape {adapter.shape} ({adapter.dtype}) does not fit {dim} dims"
        )
    return adapter


def _array(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return array
