"""Vectors of texts, by the hash of the text and the key of the model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.ledger.connection import LedgerFile, arrow_table_name
from pipeline.ledger.schema import create_vectors
from pipeline.scratch import release
from pipeline.scratch.text_hashes import chunks_of

_ROWS_PER_CHUNK = 16_384  # vectors read at once: 25 MB of 384 dimensions
_CHUNKS_HELD = 16  # of a mapped array: 400 MB
# The texts that were looked up since the ledger was opened. A temporary table lies on disk where memory is short.
_USED = "CREATE TEMP TABLE IF NOT EXISTS used_texts (text_hash VARCHAR, model_key VARCHAR, dim INTEGER)"


class VectorTables(LedgerFile):
    """One table for each number of dimensions."""

    def vectors(
        self, hashes: Sequence[str], model_key: str, dim: int, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return the vectors of texts, float32 of shape (len(hashes), dim), in the order of `hashes`.

        They are read in chunks into `out`, which may be mapped from a file; else into a new array. Raises LookupError
        where a vector is missing.
        """
        table = create_vectors(self._connection, dim)
        vectors = np.empty((len(hashes), dim), np.float32) if out is None else out
        missing = np.ones(len(hashes), np.bool_)
        self._connection.execute("CREATE OR REPLACE TEMP TABLE wanted_vectors (text_hash VARCHAR, place BIGINT)")
        first = 0
        for chunk in chunks_of(hashes):
            places = np.arange(first, first + len(chunk))
            self._insert("wanted_vectors", {"text_hash": pa.array(chunk, pa.string()), "place": pa.array(places)})
            first += len(chunk)
        reader = self._connection.sql(
            f"SELECT place, vector FROM {table} JOIN wanted_vectors USING (text_hash) WHERE model_key = ?",
            params=[model_key],
        ).to_arrow_reader(_ROWS_PER_CHUNK)
        for number, batch in enumerate(reader, 1):
            places = batch["place"].to_numpy()
            vectors[places] = np.asarray(batch["vector"].flatten(), dtype=np.float32).reshape(-1, dim)
            missing[places] = False
            if number % _CHUNKS_HELD == 0:
                release(vectors)
        self._connection.execute("DROP TABLE wanted_vectors")
        if missing.any():
            raise LookupError(f"{hashes[int(np.argmax(missing))]} has no vector of {dim} dimensions by {model_key}")
        return vectors

    def known_vectors(self, hashes: Sequence[str], model_key: str, dim: int) -> set[str]:
        """Return those of these hashes that have a vector of this model."""
        table = create_vectors(self._connection, dim)
        wanted_hashes = pa.table({"hash": pa.array(hashes, pa.string())})
        self._connection.execute(_USED)
        with arrow_table_name(self._connection, wanted_hashes) as name:
            self._connection.execute(f"INSERT INTO used_texts SELECT hash, ?, ? FROM {name}", [model_key, dim])
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

    def put_vector_shard(self, shard: Path, model_key: str, dim: int) -> None:
        """Store the vectors of a file that `write_vector_shard` wrote, of texts that have none of this model yet.

        The file is read as it is stored: its vectors are never in memory all at once.
        """
        self._connection.execute(
            f"INSERT INTO {create_vectors(self._connection, dim)} BY NAME "
            f"SELECT text_hash, ? AS model_key, vector::FLOAT[{int(dim)}] AS vector FROM read_parquet(?)",
            [model_key, str(shard)],
        )
        self._stored()

    def used_vectors(self, model_key: str, dim: int, without: Sequence[Sequence[str]]) -> pa.RecordBatchReader:
        """Return the vectors of all texts that were looked up since the ledger was opened, but for those of `without`.

        With these in its snapshot, a build whose ledger was lost embeds nothing again. They are read while the reader
        is, before anything else is asked of the ledger.
        """
        table = create_vectors(self._connection, dim)
        self._connection.execute(_USED)
        self._connection.execute("CREATE OR REPLACE TEMP TABLE stored_elsewhere (text_hash VARCHAR)")
        for hashes in without:
            for chunk in chunks_of(hashes):
                self._insert("stored_elsewhere", {"text_hash": pa.array(chunk, pa.string())})
        return self._connection.sql(
            f"""
            SELECT text_hash, model_key, vector FROM {table}
            SEMI JOIN (FROM used_texts WHERE model_key = $1 AND dim = $2) used USING (text_hash)
            ANTI JOIN stored_elsewhere USING (text_hash)
            WHERE model_key = $1 ORDER BY text_hash
            """,
            params=[model_key, dim],
        ).to_arrow_reader(_ROWS_PER_CHUNK)
