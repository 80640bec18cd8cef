"""A large catalog's vectors: tools in thirty crowds, with phrases near their documents."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.indexing import dense
from router.contract import EncoderManifest, Manifest, Signal
from router.retrieval.retrievers import DenseRetriever

TOOLS, DIM = 1_500, 32
ENCODER = EncoderManifest("m", "r", "mean", "", DIM, 64, "fp32")
BARE = Manifest("s", "c", "", "", {}, (Signal.DENSE,), ENCODER, {}, {}, {}, "", {})


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows of length one."""
    made: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return made


def write_crowds(folder: Path, counts: NDArray[np.int64], engine: Literal["faiss", "lancedb"] = "faiss") -> Path:
    """Write a catalog whose n-th tool has `counts[n]` phrases."""
    generator = np.random.default_rng(7)
    documents = unit(generator.normal(size=(30, DIM))[np.arange(TOOLS) % 30] + generator.normal(size=(TOOLS, DIM)))
    phrases = unit(np.repeat(documents, counts, axis=0) + 0.1 * generator.normal(size=(counts.sum(), DIM)))
    with large():
        dense.write_dense(folder, documents, phrases, np.concatenate([[0], np.cumsum(counts)]), engine)
    return folder


@contextmanager
def large() -> Iterator[None]:
    """Let crowds count as too many vectors to compare a request with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("router.retrieval.retrievers.dense.MOST_COMPARED", TOOLS)
        yield


def opened(folder: Path, files: Iterable[str]) -> DenseRetriever:
    """The retriever of a snapshot's folder that lists these files, opened as the router does."""
    with large():
        retriever = DenseRetriever.open(folder, replace(BARE, files=dict.fromkeys(files, "")), TOOLS)
    assert retriever is not None
    return retriever
