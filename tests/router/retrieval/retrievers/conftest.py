"""Fixtures over a module's own `catalog` of crowds."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router.retrieval.retrievers import DenseRetriever, ToolVectors
from tests.router.retrieval.retrievers.crowds import some_requests


@pytest.fixture(scope="module")
def exact(catalog: Path) -> DenseRetriever:
    """Every vector scored."""
    return DenseRetriever(ToolVectors.open(catalog))


@pytest.fixture(scope="module")
def requests() -> NDArray[np.float32]:
    return some_requests()
