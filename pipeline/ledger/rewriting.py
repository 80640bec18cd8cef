"""Copy the tables of an open ledger into a new file, without the gaps that updates and deletions left."""

from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.ledger.private import keep_private
from pipeline.ledger.schema import quoted

_TARGET = "rewritten"


def copy_tables(connection: "duckdb.DuckDBPyConnection", target: Path, texts: set[str] | None = None) -> int:
    """Copy all tables into the new file `target`; return how many vectors were left out.

    With `texts`, hashes of texts, only their vectors are copied. The file is whole and closed at the end. Raises
    duckdb.Error.
    """
    ((own,),) = connection.execute("SELECT current_database()").fetchall()
    connection.execute(f"ATTACH {quoted(str(target))} AS {_TARGET}")
    try:
        keep_private(target)
        connection.execute(f'COPY FROM DATABASE "{own}" TO {_TARGET} (SCHEMA)')
        left_out = sum(_copy(connection, table, texts) for table in _tables(connection))
        # DETACH says nothing where the disk is full.
        connection.execute(f"CHECKPOINT {_TARGET}")
    finally:
        keep_private(target)
        connection.execute(f"DETACH {_TARGET}")
    return left_out


def _copy(connection: "duckdb.DuckDBPyConnection", table: str, texts: set[str] | None) -> int:
    kept = ""
    if texts is not None and table.startswith("vectors_"):
        connection.register("kept_texts", pa.table({"text_hash": pa.array(sorted(texts), pa.string())}))
        kept = "SEMI JOIN kept_texts USING (text_hash)"
    connection.execute(f'INSERT INTO {_TARGET}."{table}" SELECT * FROM "{table}" {kept}')
    return _count(connection, f'"{table}"') - _count(connection, f'{_TARGET}."{table}"')


def _tables(connection: "duckdb.DuckDBPyConnection") -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() "
        "ORDER BY table_name"
    ).fetchall()
    return [name for (name,) in rows]


def _count(connection: "duckdb.DuckDBPyConnection", table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
