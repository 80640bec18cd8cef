"""The numbers of a delta: a pair of factors for each linear map that it changes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.delta.header import DELTA_FILE, FETCH_AGAIN, DeltaHeader, read_header
from router.errors import EncoderInvalid, quoted

Shape = tuple[int, ...]
Factors = tuple[NDArray[np.float16], NDArray[np.float16]]  # down of shape (rank, inputs), up of (outputs, rank)


@dataclass(frozen=True, slots=True)
class Delta:
    """A delta's factors by the names of the base's linear maps."""

    path: Path
    header: DeltaHeader
    factors: Mapping[str, Factors]

    def changes(self, shapes: Mapping[str, Shape]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield each changed map's name, and what is added to its weight: float32 of shape (outputs, inputs).

        `shapes` are those of the base's linear maps by name. Raises EncoderInvalid for a map that the base does not
        have in this shape, before anything is multiplied.
        """
        for name, (down, up) in self.factors.items():
            found, wanted = shapes.get(name), (len(up), down.shape[1])
            if found != wanted:
                problem = f"has the shape {found}" if found else "does not exist"
                raise EncoderInvalid(
                    f"{self.path} changes the linear map {quoted(name)} of shape {wanted}, which {problem} in the base "
                    f"{quoted(self.header.base)}: {FETCH_AGAIN}"
                )
        for name, factors in self.factors.items():
            yield name, change_of(factors, self.header.scale)


def change_of(factors: Factors, scale: float) -> NDArray[np.float32]:
    """Return what a pair of factors adds to a weight: float32 of shape (outputs, inputs)."""
    down, up = factors
    change: NDArray[np.float32] = np.float32(scale) * (up.astype(np.float32) @ down.astype(np.float32))
    return change


def read_delta(path: Path) -> Delta:
    """Return a delta: float16 factors, finite, that fit each other.

    Raises EncoderInvalid where anything is wrong with its file.
    """
    header = read_header(path)
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            keys = list(file.keys())
            slices = {key: file.get_slice(key) for key in keys}
            shapes = {key: tuple(tensor.get_shape()) for key, tensor in slices.items()}
            _check_dtypes(path, {key: tensor.get_dtype() for key, tensor in slices.items()})
            names = _map_names(path, header.rank, shapes)
            factors = {name: (file.get_tensor(f"{name}.down"), file.get_tensor(f"{name}.up")) for name in names}
    except (OSError, SafetensorError) as error:
        raise EncoderInvalid(f"the delta {path} cannot be read: {error}. Fetch the folder again") from error
    for name, pair in factors.items():
        if not all(np.isfinite(factor).all() for factor in pair):
            raise EncoderInvalid(f"{path} has a factor of {quoted(name)} that is not finite: {FETCH_AGAIN}")
    return Delta(path, header, factors)


def write_delta(folder: Path, header: DeltaHeader, factors: Mapping[str, Factors]) -> Path:
    """Write a delta's file into a folder, and return its path. Equal deltas give equal files."""
    from safetensors.numpy import save

    pairs = {name: dict(zip(("down", "up"), pair, strict=True)) for name, pair in factors.items()}
    tensors = {f"{name}.{half}": np.ascontiguousarray(pair[half]) for name, pair in pairs.items() for half in pair}
    data = save(tensors, header.metadata())
    # The library writes the metadata in a random order.
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    head["__metadata__"] = header.metadata()
    ordered = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode().ljust(size)
    path = folder / DELTA_FILE
    path.write_bytes(data[:8] + ordered + data[8 + size :])
    return path


def _check_dtypes(path: Path, dtypes: Mapping[str, str]) -> None:
    for key, dtype in dtypes.items():
        if dtype != "F16":
            raise EncoderInvalid(f"{path} has {quoted(key)} as {quoted(dtype)}, it must be F16: {FETCH_AGAIN}")


def _map_names(path: Path, most_rank: int, shapes: Mapping[str, Shape]) -> list[str]:
    """Return the names of the maps, sorted. Raises EncoderInvalid for tensors that are no pair of factors."""
    names = sorted({key.rpartition(".")[0] for key in shapes})
    if set(shapes) != {f"{name}.{half}" for name in names for half in ("down", "up")} or not names:
        odd = sorted(key for key in shapes if not key.endswith((".down", ".up")))
        raise EncoderInvalid(
            f"{path} must have '<map>.down' and '<map>.up' of each changed map, and nothing else; it has "
            f"{quoted(odd[0]) if odd else 'a map without one of them, or none'}: {FETCH_AGAIN}"
        )
    for name in names:
        down, up = shapes[f"{name}.down"], shapes[f"{name}.up"]
        if len(down) != 2 or len(up) != 2 or 0 in (*down, *up) or down[0] != up[1] or down[0] > most_rank:
            raise EncoderInvalid(
                f"{path} has factors of {quoted(name)} of the shapes {down} and {up}, they must be (rank, inputs) and "
                f"(outputs, rank) with a rank of at most {most_rank}: {FETCH_AGAIN}"
            )
    return names
