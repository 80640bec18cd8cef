"""What a request's cosines would be over the whole catalog, their mean and deviation, without scoring all of it.

The mean over tools of a product with a vector is the product with the mean vector, and its variance a quadratic form of
the covariance: both exact. The best phrase of a tool is a maximum, no product; beside the product with the mean of its
phrases it is farther by an amount, and spread by a factor, that hardly depend on the request. They are measured at
build time with phrases of the catalog in the place of requests. On 9,974 tools with 73,783 phrases the spread of other
requests is then off by 4 % (standard deviation 3 %) and the centre by .05 spreads (.06).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router.errors import SnapshotInvalid


@dataclass(frozen=True)
class Moments:
    """By view: `centers` float32 (views, dim), `covariances` (views, dim, dim), `shifts` and `ratios` (views,).

    `lift` (dim,) and `lift_shift` give by how much a best phrase is nearer to a request than a document, on average.
    """

    centers: NDArray[np.float32]
    covariances: NDArray[np.float32]
    shifts: NDArray[np.float32]
    ratios: NDArray[np.float32]
    lift: NDArray[np.float32]
    lift_shift: NDArray[np.float32]

    @classmethod
    def open(cls, path: Path, views: int, dim: int) -> "Moments":
        """Read what `save` wrote. Raises SnapshotInvalid where it cannot be read or is of other vectors."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                found = cls(**{name: stored[name] for name in cls.__annotations__})
        except (OSError, ValueError, KeyError) as error:
            raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
        shapes: Mapping[str, tuple[int, ...]] = {
            "centers": (views, dim),
            "covariances": (views, dim, dim),
            "shifts": (views,),
            "ratios": (views,),
            "lift": (dim,),
            "lift_shift": (),
        }
        for name, shape in shapes.items():
            if getattr(found, name).shape != shape:
                raise SnapshotInvalid(f"{path}: {name} has shape {getattr(found, name).shape}, it must be {shape}")
        return found

    def save(self, path: Path) -> None:
        """Write them as one file."""
        np.savez(path, **{name: getattr(self, name) for name in self.__annotations__})

    def center(self, view: int, vector: NDArray[np.float32]) -> float:
        """The mean score of the catalog's tools."""
        return float(self.centers[view] @ vector + self.shifts[view])

    def spread(self, view: int, vector: NDArray[np.float32]) -> float:
        """The standard deviation of the scores of the catalog's tools."""
        return float(self.ratios[view] * np.sqrt(max(vector @ (self.covariances[view] @ vector), 0)))

    def lifted(self, vector: NDArray[np.float32]) -> float:
        """What a tool without phrases is lifted by: see `DenseRetriever`."""
        return float(self.lift @ vector + self.lift_shift)
