"""Fixtures over a module's own `catalog` of crowds."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router.retrieval.retrievers import DenseRetriever, ToolVectors
from tests.router.retrieval.retrievers.crowds import DIM, unit


@pytest.fixture(scope="module")
def exact(catalog: Path) -> DenseRetriever:
    """Every vector scored."""
    return DenseRetriever(ToolVectors.open(catalog))


@pytest.fixture(scope="module")
def requests() -> NDArray[np.float32]:
    """Forty requests in any direction."""
    return unit(np.random.default_rng(8).normal(size=(40, DIM)))
