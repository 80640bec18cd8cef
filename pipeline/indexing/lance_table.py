"""Writes the table of candidates for LanceDB; `router.retrieval.retrievers.lance_candidates` says what it holds."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.errors import SnapshotInvalid
from router.retrieval.retrievers.lance_candidates import (
    CENTROID,
    DISTANCE,
    INDEX,
    ORDINAL,
    TABLE,
    cluster_count,
    require_lancedb,
)

_BLOCK = 16_384  # tools in memory at once
_SAMPLE = 64  # centroids of a cluster that it is trained on
_ITERATIONS = 20


def write_table(centroids: NDArray[np.float32], folder: Path) -> None:
    """Write a table of centroids (tools, dim) into a snapshot's folder, and index it by inner product.

    Equal centroids give equal rows. Clusters and codes are trained on a sample that LanceDB draws anew each time.
    Raises SnapshotInvalid where lancedb is not installed, or a row has not the number of its tool.
    """
    import pyarrow as pa

    database = require_lancedb().connect(folder)
    schema = pa.schema([(ORDINAL, pa.uint32()), (CENTROID, pa.list_(pa.float16(), centroids.shape[1]))])
    # With stable ids a row's id is its number in the table, however many files hold it: a search returns ordinals.
    options = {"new_table_enable_stable_row_ids": "true"}
    reader = pa.RecordBatchReader.from_batches(schema, _batches(centroids, schema))
    table = database.create_table(TABLE, data=reader, schema=schema, storage_options=options)
    _require_order(table, len(centroids))
    table.create_index(CENTROID, config=_index(*centroids.shape), name=INDEX)
    table.wait_for_index([INDEX])
    # The log of how the table came about: no reader needs it.
    shutil.rmtree(folder / contract.CANDIDATE_TABLE / "_transactions")


def _batches(centroids: NDArray[np.float32], schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    tools, dim = centroids.shape
    for first in range(0, tools, _BLOCK):
        block = centroids[first : first + _BLOCK].astype(np.float16)
        ordinals = pa.array(np.arange(first, first + len(block), dtype=np.uint32))
        yield pa.record_batch([ordinals, pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), dim)], schema)


def _require_order(table: Any, tools: int) -> None:
    """Raise SnapshotInvalid where the row of a tool has another number than the tool."""
    rows = table.search().select([ORDINAL]).with_row_id(True).limit(tools).to_arrow()
    if len(rows) != tools or (rows[ORDINAL].to_numpy() != rows["_rowid"].to_numpy()).any():
        raise SnapshotInvalid(f"LanceDB wrote the {tools} rows of {contract.CANDIDATE_TABLE} in another order")


def _index(tools: int, dim: int) -> Any:
    from lancedb.index import IvfPq

    return IvfPq(
        distance_type=DISTANCE,
        num_partitions=cluster_count(tools),
        num_sub_vectors=dim // 2 if dim % 2 == 0 else dim,
        num_bits=4,
        max_iterations=_ITERATIONS,
        sample_rate=_SAMPLE,
    )
