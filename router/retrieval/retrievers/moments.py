"""Mean and standard deviation of a query's dense scores over the whole catalog, without scoring all of it.

The mean over tools of a product with a vector is the product with the mean vector; its variance is a quadratic form of
the covariance. Both are exact. The nearest phrase is a maximum, no product: compared with the product with the mean of
a tool's phrases, its mean differs by a shift and its deviation by a ratio that hardly depend on the query. A build
measures both with phrases as queries. See docs/decisions/0014-candidates-of-large-catalogs.md for their accuracy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router.errors import SnapshotInvalid


@dataclass(frozen=True)
class CatalogMoments:
    """Moments of a catalog's dense scores by view, all float32.

    `centers` (views, dim), `covariances` (views, dim, dim), `shifts` and `ratios` (views,). `lift` (dim,) and
    `lift_shift` () give the mean gain of a tool's nearest phrase over its document.
    """

    centers: NDArray[np.float32]
    covariances: NDArray[np.float32]
    shifts: NDArray[np.float32]
    ratios: NDArray[np.float32]
    lift: NDArray[np.float32]
    lift_shift: NDArray[np.float32]

    @classmethod
    def open(cls, path: Path, views: int, dim: int) -> "CatalogMoments":
        """Read a file that `save` wrote. Raises SnapshotInvalid where it cannot be read or is of other vectors."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                moments = cls(**{name: stored[name] for name in cls.__annotations__})
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
            if getattr(moments, name).shape != shape:
                raise SnapshotInvalid(f"{path}: {name} has shape {getattr(moments, name).shape}, it must be {shape}")
        return moments

    def save(self, path: Path) -> None:
        """Write the moments into one file."""
        np.savez(path, **{name: getattr(self, name) for name in self.__annotations__})

    def center(self, view: int, vector: NDArray[np.float32]) -> float:
        """Return the mean score of the catalog's tools in a view, by its index in VIEWS."""
        return float(self.centers[view] @ vector + self.shifts[view])

    def spread(self, view: int, vector: NDArray[np.float32]) -> float:
        """Return the standard deviation of the scores of the catalog's tools in a view."""
        return float(self.ratios[view] * np.sqrt(max(vector @ (self.covariances[view] @ vector), 0)))

    def lifted(self, vector: NDArray[np.float32]) -> float:
        """Return the lift of a tool without phrases: see `router.retrieval.retrievers.views.blend`."""
        return float(self.lift @ vector + self.lift_shift)
