"""Deltas of random numbers over a small encoder."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.delta import DeltaHeader, Factors, write_checksums, write_delta
from pipeline.encoders.export import WEIGHTS_FILE
from router.fingerprint import file_sha256

RANK = 2


def random_factors(base: Path, size: float = 0.3, seed: int = 0) -> dict[str, Factors]:
    """Return factors for every linear map of the layers of a saved BERT; a size of 0 is a delta of zeros."""
    from safetensors.numpy import load_file

    random = np.random.default_rng(seed)

    def drawn(*shape: int) -> NDArray[np.float16]:
        return (random.normal(0, 1, shape) * size).astype(np.float16)

    shapes = {
        name.removesuffix(".weight"): weight.shape
        for name, weight in load_file(base / WEIGHTS_FILE).items()
        if name.startswith("encoder.") and weight.ndim == 2
    }
    return {name: (drawn(RANK, inputs), drawn(outputs, RANK)) for name, (outputs, inputs) in sorted(shapes.items())}


def save_small_delta(
    folder: Path, base: Path, *, name: str | None = None, size: float = 0.3, scale: float = 2.0, seed: int = 0
) -> Path:
    """Write a delta over the encoder in `base`, which it names by `name`, or by its path; return the delta's folder."""
    folder.mkdir(parents=True)
    header = DeltaHeader(name or str(base), file_sha256(base / WEIGHTS_FILE), scale, RANK)
    write_delta(folder, header, random_factors(base, size, seed))
    write_checksums(folder)
    return folder
