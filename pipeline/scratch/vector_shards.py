"""Vectors of texts in a Parquet file: a worker writes it, and the ledger takes it in without reading it into Python."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray


def write_vector_shard(path: Path, hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Write the `vectors` (texts, dim) of texts, by their hashes, as `Ledger.put_vector_shard` reads them."""
    columns = {
        "text_hash": pa.array(list(hashes), pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
    }
    # Vectors do not compress, and a dictionary of them is of no use.
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False)
