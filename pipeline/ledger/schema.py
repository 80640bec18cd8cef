"""The tables and views of the ledger, with their comments: brought up to date when a ledger is opened."""

from importlib import resources
from pathlib import Path

import duckdb

from pipeline.ledger.backups import back_up_before_migration
from pipeline.ledger.database import transaction
from pipeline.ledger.files import quoted
from pipeline.ledger.migrations import MIGRATIONS, apply, is_empty, pending
from router.fingerprint import fingerprint

_VECTORS = """
CREATE TABLE IF NOT EXISTS vectors_{dim} (text_hash VARCHAR, model_key VARCHAR, vector FLOAT[{dim}]);
COMMENT ON TABLE vectors_{dim} IS 'Vectors of {dim} dimensions, so that an unchanged text is embedded once.';
COMMENT ON COLUMN vectors_{dim}.text_hash IS 'The hash of the text.';
COMMENT ON COLUMN vectors_{dim}.model_key IS 'The encoder, its revision and its settings.';
COMMENT ON COLUMN vectors_{dim}.vector IS 'The vector.';
"""
_IS_COMPLETE = "SELECT 1 FROM duckdb_tables() WHERE table_name = ? AND comment IS NOT NULL"


def update_tables(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    """Run the migrations that the file has not had, and write views and comments, all in one transaction.

    A ledger that holds anything is copied before it is changed. Raises RunAborted where a newer version wrote the file.
    """
    steps = pending(connection, path)
    views = resources.files("pipeline.ledger").joinpath("views.sql").read_text(encoding="utf-8")
    # In the comment of the sequence stands which views and comments the file has: reading all comments takes 60 ms.
    mark = f"The numbers of the runs. Schema {fingerprint([MIGRATIONS[-1].number, views])[:16]}."
    if not steps and connection.execute("SELECT 1 FROM duckdb_sequences() WHERE comment = ?", [mark]).fetchall():
        return
    if steps and not is_empty(connection):
        back_up_before_migration(connection, path, steps[-1].number)
    with transaction(connection):
        apply(connection, steps)
        connection.execute(views)
        connection.execute(f"COMMENT ON SEQUENCE run_ids IS {quoted(mark)}")


def create_vectors(connection: "duckdb.DuckDBPyConnection", dim: int) -> str:
    """Create the table of vectors of so many dimensions where it is missing, and return its name."""
    table = f"vectors_{int(dim)}"
    if not connection.execute(_IS_COMPLETE, [table]).fetchall():
        with transaction(connection):
            connection.execute(_VECTORS.format(dim=int(dim)))
    return table
