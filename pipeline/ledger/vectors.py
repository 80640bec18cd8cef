"""Vectors of texts, by the hash of the text and the key of the model."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.ledger.database import GIVEN, Database
from pipeline.scratch import release

_ROWS_PER_CHUNK = 16_384  # vectors read at once: 25 MB of 384 dimensions
_CHUNKS_HELD = 16  # of a mapped array: 400 MB

_VECTORS = """
CREATE TABLE IF NOT EXISTS vectors_{dim} (text_hash VARCHAR, model_key VARCHAR, vector FLOAT[{dim}]);
COMMENT ON TABLE vectors_{dim} IS 'Vectors of {dim} dimensions, so that an unchanged text is embedded once.';
COMMENT ON COLUMN vectors_{dim}.text_hash IS 'The hash of the text.';
COMMENT ON COLUMN vectors_{dim}.model_key IS 'The encoder, its revision and its settings.';
COMMENT ON COLUMN vectors_{dim}.vector IS 'The vector.';
"""


class Vectors(Database):
    """One table for each number of dimensions."""

    def vectors(
        self, hashes: Sequence[str], model_key: str, dim: int, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return the vectors of texts, float32 of shape (len(hashes), dim), in the order of `hashes`.

        They are read in chunks into `out`, which may be mapped from a file; else into a new array. Raises LookupError
        where a vector is missing.
        """
        vectors = np.empty((len(hashes), dim), np.float32) if out is None else out
        missing = np.ones(len(hashes), np.bool_)
        wanted = pa.table({"text_hash": pa.array(hashes, pa.string()), "place": np.arange(len(hashes))})
        with self.named(wanted) as name:
            reader = self.connection.sql(
                f"SELECT place, vector FROM {self._table(dim)} JOIN {name} USING (text_hash) WHERE model_key = ?",
                params=[model_key],
            ).to_arrow_reader(_ROWS_PER_CHUNK)
            for number, batch in enumerate(reader, 1):
                places = batch["place"].to_numpy()
                vectors[places] = np.asarray(batch["vector"].flatten(), dtype=np.float32).reshape(-1, dim)
                missing[places] = False
                if number % _CHUNKS_HELD == 0:
                    release(vectors)
        if missing.any():
            raise LookupError(f"{hashes[int(np.argmax(missing))]} has no vector of {dim} dimensions by {model_key}")
        return vectors

    def known(self, hashes: Sequence[str], model_key: str, dim: int) -> set[str]:
        """Return those of these hashes that have a vector of this model."""
        rows = self.rows(
            f"SELECT text_hash FROM {self._table(dim)} WHERE model_key = $model AND text_hash IN {GIVEN}",
            {"model": model_key, "given": list(hashes)},
        )
        return {digest for (digest,) in rows}

    def put(self, hashes: Sequence[str], vectors: NDArray[np.float32], model_key: str) -> None:
        """Store vectors, shape (len(hashes), dim), of texts that have none of this model yet."""
        dim = vectors.shape[1]
        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim)
        rows = pa.table({"text_hash": pa.array(hashes, pa.string()), "vector": lists})
        self.insert(self._table(dim), rows, model_key=model_key)

    def _table(self, dim: int) -> str:
        """Return the name of the table for a number of dimensions, made where it is missing."""
        table = f"vectors_{int(dim)}"
        if not self.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = ? AND comment IS NOT NULL", [table]):
            with self.transaction():
                self.execute(_VECTORS.format(dim=int(dim)))
        return table
