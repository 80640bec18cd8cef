"""Mean and standard deviation of a query's dense scores over the whole catalog, without scoring all of it.

The mean over tools of a product with a vector is the product with the mean vector; its variance is a quadratic form of
the covariance. Both are exact. The nearest phrase is a maximum, no product: compared with the product with the mean of
a tool's phrases, its mean differs by a shift and its deviation by a ratio that hardly depend on the query. A build
measures both with phrases as queries. See docs/decisions/large-catalogs.md for their accuracy.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.errors import SnapshotInvalid
from router.refusals import damage_refused


class CatalogMoments(msgspec.Struct, frozen=True):
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
        with damage_refused(f"{path} cannot be read"):
            _require_stored(path)
            with np.load(path, allow_pickle=False) as stored:
                moments = cls(**{name: stored[name] for name in cls.__annotations__})
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
            if getattr(moments, name).dtype != np.float32:
                raise SnapshotInvalid(f"{path}: {name} is {getattr(moments, name).dtype}, it must be float32")
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
        """Return the lift of a tool without phrases: see `router.retrieval.retrievers.moments.blend`."""
        return float(self.lift @ vector + self.lift_shift)


def _require_stored(path: Path) -> None:
    """Raise ValueError for members that are compressed, or larger than the file: `np.savez` writes neither."""
    size = path.stat().st_size
    with ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type != ZIP_STORED or member.file_size > size:
                raise ValueError(f"its member {member.filename!r:.80} is compressed, or larger than the file")


class DenseView(StrEnum):
    """Which vectors score a tool: its document's, its nearest phrase's, or the mean of the two cosines.

    A tool without phrases gets, in the last two views, its document's cosine plus the mean gain of the tools with
    phrases. Such a score can exceed 1.
    """

    DOCUMENT = "document"
    PHRASE = "phrase"
    MEAN = "mean"


VIEWS = tuple(DenseView)

# For each tool the cosine of its document and of its nearest phrase; the latter is NaN where it has no phrase.
Cosines = tuple[NDArray[np.float32], NDArray[np.float32]]


def document_and_phrase(cosines: NDArray[np.float32], offsets: NDArray[np.int64]) -> Cosines:
    """Split the cosines of tools' vectors, of shape (vectors,) or (vectors, queries).

    Tool i has cosines[offsets[i]:offsets[i+1]], its document's first.
    """
    firsts = offsets[:-1]
    documents = cosines[firsts]
    phrases = cosines.copy()
    phrases[firsts] = -np.inf  # below any phrase, so that a tool's greatest is that of its nearest phrase
    nearest: NDArray[np.float32] = np.maximum.reduceat(phrases, firsts, axis=0)
    nearest[np.diff(offsets) == 1] = np.nan
    return documents, nearest


def blend(
    documents: NDArray[np.float32],
    nearest: NDArray[np.float32],
    view: DenseView,
    lift: np.float32 | NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return each tool's score in a view from the cosines of its document and of its nearest phrase.

    `nearest` is NaN for a tool without phrases: it gets its document's cosine plus `lift`, the mean gain of the others,
    a scalar or of shape (queries,).
    """
    if view is DenseView.DOCUMENT:
        return documents
    # See docs/decisions/vectors.md.
    scores: NDArray[np.float32] = np.where(np.isnan(nearest), documents + lift, nearest)
    if view is DenseView.MEAN:
        scores += documents
        scores /= 2
    return scores


def rounded(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Round scores to six decimals and return them as float64.

    Smaller differences come from the rounding of vectors: such scores tie, and go by id.
    """
    return scores.round(6).astype(np.float64)
