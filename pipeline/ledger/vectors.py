"""Vectors of texts, by the hash of the text and the key of the model."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.ledger.connection import LedgerFile, arrow_table_name
from pipeline.ledger.schema import create_vectors

_ROWS_PER_CHUNK = 16_384  # vectors read at once: 25 MB of 384 dimensions


class VectorTables(LedgerFile):
    """One table for each number of dimensions."""

    @cached_property
    def _used(self) -> dict[tuple[str, int], set[str]]:
        """The hashes of the texts that were looked up, by model and dimensions."""
        return {}

    def vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> NDArray[np.float32]:
        """Return the vectors of texts, float32 of shape (len(hashes), dim), in the order of `hashes`.

        They are read in chunks, so that only one copy is in memory. Raises LookupError where a vector is missing.
        """
        table = create_vectors(self._connection, dim)
        vectors = np.empty((len(hashes), dim), np.float32)
        missing = np.ones(len(hashes), np.bool_)
        wanted_rows = pa.table({"hash": pa.array(hashes, pa.string()), "place": pa.array(np.arange(len(hashes)))})
        with arrow_table_name(self._connection, wanted_rows) as name:
            reader = self._connection.sql(
                f"SELECT place, vector FROM {table} JOIN {name} ON hash = text_hash WHERE model_key = ?",
                params=[model_key],
            ).to_arrow_reader(_ROWS_PER_CHUNK)
            for chunk in reader:
                places = chunk["place"].to_numpy()
                vectors[places] = np.asarray(chunk["vector"].flatten(), dtype=np.float32).reshape(-1, dim)
                missing[places] = False
        if missing.any():
            raise LookupError(f"{hashes[int(np.argmax(missing))]} has no vector of {dim} dimensions by {model_key}")
        return vectors

    def known_vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> set[str]:
        """Return those of these hashes that have a vector of this model."""
        table = create_vectors(self._connection, dim)
        self._used.setdefault((model_key, dim), set()).update(hashes)
        wanted_hashes = pa.table({"hash": pa.array(hashes, pa.string())})
        with arrow_table_name(self._connection, wanted_hashes) as name:
            rows = self._connection.execute(
                f"SELECT text_hash FROM {table} JOIN {name} ON hash = text_hash WHERE model_key = ?",
                [model_key],
            ).fetchall()
        return {digest for (digest,) in rows}

    def put_vectors(self, hashes: Sequence[str], vectors: NDArray[np.float32], model_key: str) -> None:
        """Store vectors of texts that have none of this model yet.

        `vectors` has the shape (len(hashes), dim) and the order of `hashes`.
        """
        dim = vectors.shape[1]
        self._insert(
            create_vectors(self._connection, dim),
            {
                "text_hash": list(hashes),
                "model_key": [model_key] * len(hashes),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim),
            },
        )
        self._stored()

    def used_vectors(self, model_key: str, dim: int, without: Sequence[str]) -> pa.Table:
        """Return the vectors of all texts that were looked up since the ledger was opened, but for those of `without`.

        With these in its snapshot, a build whose ledger was lost embeds nothing again.
        """
        wanted = sorted(self._used.get((model_key, dim), set()).difference(without))
        known = sorted(self.known_vectors(wanted, model_key, dim))
        vectors = self.vectors(known, model_key, dim)
        return pa.table(
            {
                "text_hash": pa.array(known, pa.string()),
                "model_key": pa.array([model_key] * len(known), pa.string()),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim),
            }
        )
