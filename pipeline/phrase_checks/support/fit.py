"""Measure how well texts fit the subjects of their tools."""

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.catalog.vectors import ScoreDistribution


class SubjectFit:
    """The subjects of a catalog's tools, vectors of shape (tools, dim), L2-normalised, to which texts fit or do not."""

    def __init__(self, subjects: NDArray[np.float32]) -> None:
        self._subjects = subjects
        self._distribution = ScoreDistribution.of(subjects)

    def of(self, vectors: NDArray[np.float32], owners: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return by how many standard deviations texts (rows, dim) fit their owners' subjects (rows,) above the mean.

        The mean and the deviation are those of the text's cosines with all subjects of the catalog.
        """
        subjects = self._subjects[owners]
        own = np.einsum("ij,ij->i", vectors, subjects)
        mean, deviation = self._distribution.standard(vectors, subjects, own)
        fits: NDArray[np.float64] = (np.round(own, 6) - mean) / deviation
        return fits

    def of_one(self, vectors: NDArray[np.float32], owner: int) -> NDArray[np.float64]:
        """Return how well texts (rows, dim) fit one tool's subject."""
        return self.of(vectors, np.full(len(vectors), owner, np.int64))
