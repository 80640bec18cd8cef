"""Open the files of a snapshot, and compare their shapes with its catalog.

Every function raises SnapshotInvalid where a file cannot be read or does not fit. `tools` is the number of tools.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest, Signal
from router.encoding.encoder import Encoder, OnnxEncoder, import_runtime
from router.errors import SnapshotInvalid
from router.retrieval.arrays import load_array, load_bytes, load_offsets
from router.retrieval.implicit_needs import ImplicitNeedTools
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.retrieval.retrievers.candidates import has_faiss
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.record_store import RecordStore


def import_libraries(manifest: Manifest) -> None:
    """Import what reads a snapshot's vectors, which takes as long as hashing 100 MB.

    Where a library cannot be imported nothing happens: whoever needs it tells that.
    """
    with suppress(ImportError):
        if Signal.DENSE in manifest.signals and manifest.encoder is not None:
            import_runtime()
        if contract.CANDIDATES in manifest.files:
            has_faiss()


def load_records(folder: Path, manifest: Manifest) -> RecordStore:
    """Return the records, whose number must be the manifest's."""
    offsets = load_offsets(folder / contract.RECORD_OFFSETS)
    tools = len(offsets) - 1
    if tools != manifest.counts.get("tools"):
        raise SnapshotInvalid(f"{folder} holds {tools} tools, its manifest says {manifest.counts.get('tools')}")
    lines = load_bytes(folder / contract.RECORDS)
    if offsets[-1] != len(lines):
        raise SnapshotInvalid(f"{folder / contract.RECORDS} has {len(lines)} bytes, its offsets say {offsets[-1]}")
    return RecordStore(lines, offsets)


def open_encoder(folder: Path, manifest: Manifest) -> Encoder | None:
    """Return the encoder of requests, which has encoded a word in time; None where the snapshot has no vectors."""
    if Signal.DENSE not in manifest.signals or manifest.encoder is None:
        return None
    encoder = OnnxEncoder.open(folder / contract.ENCODER_FOLDER, manifest.encoder)
    encoder.require_vector()
    return encoder


def encoder_identity(manifest: Manifest) -> object:
    """Return the encoder's description and the checksums of its files: equal for snapshots that encode alike."""
    folder = f"{contract.ENCODER_FOLDER}/"
    return manifest.encoder, {name: digest for name, digest in manifest.files.items() if name.startswith(folder)}


def load_expansion_marks(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.uint8] | None:
    """Return the `Expanded` mark of each tool, uint8 (tools,); None where every tool has an expansion."""
    if Signal.EXPANSION not in manifest.signals:
        return np.full(tools, contract.Expanded.NO, np.uint8)
    if contract.EXPANDED not in manifest.files:
        return None
    return _by_ordinal(folder, contract.EXPANDED, "marks", np.dtype(np.uint8), tools)


def load_unread(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.bool_] | None:
    """Return for each tool whether the English analyzer cannot read its description; None where it reads all."""
    if contract.UNREAD not in manifest.files:
        return None
    return _by_ordinal(folder, contract.UNREAD, "marks", np.dtype(np.bool_), tools)


def load_adapter(folder: Path, manifest: Manifest) -> NDArray[np.float32] | None:
    """Return the query adapter, float32 (dim, dim); None where none was learned."""
    if contract.ADAPTER not in manifest.files:
        return None
    learned = load_array(folder / contract.ADAPTER)
    dim = manifest.encoder.dim if manifest.encoder else 0
    if learned.shape != (dim, dim) or learned.dtype != np.float32:
        raise SnapshotInvalid(
            f"{folder}: an adapter of shape {learned.shape} ({learned.dtype}) does not fit {dim} dims"
        )
    return learned


def load_calibration(
    folder: Path, manifest: Manifest, tools: int
) -> tuple[BackgroundScores | None, tuple[Calibration, ...]]:
    """Return the background scores and the no-answer calibrations; None and () where the snapshot has none."""
    if contract.BACKGROUND_SCORES not in manifest.files:
        return None, ()
    dim = manifest.encoder.dim if manifest.encoder and contract.BACKGROUND_VECTOR in manifest.files else None
    rows = manifest.tuning.get("fitting", {}).get("calibrations", ())
    return BackgroundScores.open(folder, tools, dim), tuple(map(Calibration.from_json, rows))


def load_duplicates(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.int64] | None:
    """Return for each ordinal the first ordinal of its duplicates, int64 (tools,); None where no tool has one."""
    if contract.DUPLICATES not in manifest.files:
        return None
    first = _by_ordinal(folder, contract.DUPLICATES, "duplicates", np.dtype(np.int64), tools)
    if tools and not 0 <= first.min() <= first.max() < tools:
        raise SnapshotInvalid(f"{folder / contract.DUPLICATES} names a tool that is not one of {tools}")
    return first


def load_prerequisites(folder: Path, manifest: Manifest, tools: int) -> PrerequisiteGraph | None:
    """Return which tools need which; None where none does, or the build did not look."""
    return PrerequisiteGraph.open(folder, tools) if contract.PREREQUISITES in manifest.files else None


def load_implicit_needs(folder: Path, manifest: Manifest, tools: int) -> ImplicitNeedTools:
    """Return the tools that meet implicit needs; none where the snapshot tells none."""
    return ImplicitNeedTools.open(folder, tools) if contract.IMPLICIT_NEEDS in manifest.files else ImplicitNeedTools()


def _by_ordinal(folder: Path, name: str, what: str, dtype: np.dtype[Any], tools: int) -> NDArray[Any]:
    values = load_array(folder / name)
    if values.shape != (tools,) or values.dtype != dtype:
        raise SnapshotInvalid(f"{folder}: {what} of shape {values.shape} ({values.dtype}) do not fit {tools} tools")
    return values
