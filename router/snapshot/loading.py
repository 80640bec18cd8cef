"""The parts of a snapshot on disk: each opened, and held against the catalog that it says it is of."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest, Signal
from router.encoding.encoder import Encoder, OnnxEncoder
from router.errors import SnapshotInvalid
from router.provider_formats import Detail, Form
from router.retrieval.arrays import load_array
from router.retrieval.calibration import Calibration
from router.retrieval.score_normalization import BackgroundScores


def token_counts(folder: Path, tools: int) -> NDArray[np.int32]:
    """Tokens of each tool as a model is given it, int32 (tools, forms, details), in the orders of Form and Detail."""
    held = load_array(folder / contract.TOKEN_COUNTS)
    if held.shape != (tools, len(Form), len(Detail)) or held.dtype != np.int32:
        raise SnapshotInvalid(
            f"{folder}: token counts of shape {held.shape} ({held.dtype}) do not fit {tools} tools "
            f"in {len(Form)} forms and {len(Detail)} details"
        )
    return held


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
    learned = load_array(folder / contract.ADAPTER)
    dim = manifest.encoder.dim if manifest.encoder else 0
    if learned.shape != (dim, dim) or learned.dtype != np.float32:
        raise SnapshotInvalid(
            f"{folder}: an adapter of shape {learned.shape} ({learned.dtype}) does not fit {dim} dims"
        )
    return learned


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
    held = load_array(folder / name)
    if held.shape != (tools,) or held.dtype != dtype:
        raise SnapshotInvalid(f"{folder}: {what} of shape {held.shape} ({held.dtype}) do not fit {tools} tools")
    return held


def bytes_of(path: Path) -> NDArray[np.uint8]:
    """A file's bytes, memory-mapped. Raises SnapshotInvalid where it cannot be read."""
    try:
        stored: NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return stored
