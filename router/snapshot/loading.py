"""The parts of a snapshot on disk: each opened, and held against the catalog that it says it is of."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest, Signal
from router.encoding.encoder import Encoder, OnnxEncoder
from router.errors import SnapshotInvalid
from router.retrieval.calibration import Calibration
from router.retrieval.retrievers import (
    MOST_COPIED,
    VIEWS,
    WITHOUT_FAISS,
    Candidates,
    DenseRetriever,
    IntentRetriever,
    Moments,
    ToolVectors,
    has_faiss,
)
from router.retrieval.score_normalization import BackgroundScores

_logger = logging.getLogger("router")


def open_dense(folder: Path, manifest: Manifest, tools: int) -> DenseRetriever | None:
    """The dense retriever; None where the snapshot has no vectors."""
    if Signal.DENSE not in manifest.signals or manifest.encoder is None:
        return None
    dim = manifest.encoder.dim
    held = ToolVectors(
        *(array(folder / name) for name in (contract.VECTORS, contract.VECTOR_SCALES, contract.VECTOR_OFFSETS))
    )
    if held.rows.shape != (held.offsets[-1], dim) or held.scales.shape != held.rows.shape[:1] or len(held) != tools:
        raise SnapshotInvalid(
            f"{folder}: vectors of shape {held.rows.shape} of {len(held)} tools do not fit {tools} tools of {dim} dims"
        )
    if contract.CANDIDATES not in manifest.files or not has_faiss():
        if len(held.rows) > MOST_COPIED:
            again = "" if contract.CANDIDATES in manifest.files else ", and build the catalog again"
            _logger.warning("%s: %s%s", folder, WITHOUT_FAISS.format(vectors=len(held.rows)), again)
        return DenseRetriever(held)
    return DenseRetriever(
        held,
        Candidates.open(folder / contract.CANDIDATES, tools, dim),
        Moments.open(folder / contract.MOMENTS, len(VIEWS), dim),
    )


def open_encoder(folder: Path, manifest: Manifest) -> Encoder | None:
    """The encoder of requests; None where the snapshot has no vectors."""
    if Signal.DENSE not in manifest.signals or manifest.encoder is None:
        return None
    return OnnxEncoder.open(folder / contract.ENCODER_FOLDER, manifest.encoder)


def encoder_files(manifest: Manifest) -> object:
    """Equal where two snapshots encode requests alike: what the encoder is, and the checksums of its files."""
    folder = f"{contract.ENCODER_FOLDER}/"
    return manifest.encoder, {name: digest for name, digest in manifest.files.items() if name.startswith(folder)}


def expanded(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.uint8] | None:
    """`Expanded` by ordinal; None where all tools are alike and have a list."""
    if Signal.EXPANSION not in manifest.signals:
        return np.full(tools, contract.Expanded.NO, np.uint8)
    if contract.EXPANDED not in manifest.files:
        return None
    return _by_ordinal(folder, contract.EXPANDED, "marks", np.dtype(np.uint8), tools)


def adapter(folder: Path, manifest: Manifest) -> NDArray[np.float32] | None:
    """The query adapter, float32 (dim, dim); None where none was learned."""
    if contract.ADAPTER not in manifest.files:
        return None
    learned = array(folder / contract.ADAPTER)
    dim = manifest.encoder.dim if manifest.encoder else 0
    if learned.shape != (dim, dim) or learned.dtype != np.float32:
        raise SnapshotInvalid(
            f"{folder}: an adapter of shape {learned.shape} ({learned.dtype}) does not fit {dim} dims"
        )
    return learned


def intents(folder: Path, manifest: Manifest, tools: int) -> IntentRetriever | None:
    """The retriever of past requests; None where the catalog was given none."""
    if Signal.INTENT not in manifest.signals or manifest.encoder is None:
        return None
    vectors, offsets, ordinals, lessons, threshold = (
        array(folder / name)
        for name in (
            contract.INTENT_VECTORS,
            contract.INTENT_OFFSETS,
            contract.INTENT_TOOLS,
            contract.INTENT_LESSONS,
            contract.INTENT_THRESHOLD,
        )
    )
    fits = (
        vectors.shape == (len(offsets) - 1, manifest.encoder.dim)
        and ordinals.shape == lessons.shape == (offsets[-1],)
        and not ((ordinals < 0) | (ordinals >= tools)).any()
        and threshold.shape == ()
        and threshold < 1
    )
    if not fits:
        raise SnapshotInvalid(
            f"{folder}: past requests of shape {vectors.shape}, with {len(ordinals)} tools, do not fit {tools} tools"
        )
    return IntentRetriever(vectors, offsets, ordinals, lessons, float(threshold))


def fitting(folder: Path, manifest: Manifest, tools: int) -> tuple[BackgroundScores | None, tuple[Calibration, ...]]:
    """What tells whether any tool fits; nothing where the snapshot was not calibrated."""
    if contract.COHORT not in manifest.files:
        return None, ()
    dim = manifest.encoder.dim if manifest.encoder and contract.ERRAND_VECTOR in manifest.files else None
    rows = manifest.tuning.get("fitting", {}).get("calibrations", ())
    return BackgroundScores.open(folder, tools, dim), tuple(map(Calibration.from_json, rows))


def duplicates(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.int64] | None:
    """For each ordinal the first ordinal of its duplicates; None where no tool has one."""
    if contract.DUPLICATES not in manifest.files:
        return None
    return _by_ordinal(folder, contract.DUPLICATES, "duplicates", np.dtype(np.int64), tools)


def _by_ordinal(folder: Path, name: str, what: str, dtype: np.dtype[Any], tools: int) -> NDArray[Any]:
    held = array(folder / name)
    if held.shape != (tools,) or held.dtype != dtype:
        raise SnapshotInvalid(f"{folder}: {what} of shape {held.shape} ({held.dtype}) do not fit {tools} tools")
    return held


def array(path: Path) -> NDArray[Any]:
    """A stored array, memory-mapped. Raises SnapshotInvalid where it cannot be read."""
    try:
        # As plain arrays: numpy's memmap class makes each small operation several times slower.
        stored: NDArray[Any] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return stored


def bytes_of(path: Path) -> NDArray[np.uint8]:
    """A file's bytes, memory-mapped. Raises SnapshotInvalid where it cannot be read."""
    try:
        stored: NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return stored
