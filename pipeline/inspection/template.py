"""The database that `catalog.duckdb` begins as: empty tables, views and macros, with their comments.

Making them takes some 300 statements; copying the packaged file takes none. After a change to the SQL files write it
anew: `python -m pipeline.inspection.template`.
"""

import re
from importlib import resources
from pathlib import Path

import duckdb

from pipeline.ledger import CONNECTION
from pipeline.ledger.history import NIGHTS

TEMPLATE = Path(__file__).parent / "template.duckdb"
_TABLE = re.compile(r"CREATE TABLE (\w+) \( -- (.+)")
_COLUMN = re.compile(r"    (\w+) .+? -- (.+)")
# The oldest version that the extra `inspect` allows; by default DuckDB writes for its own version only.
_READABLE = {"storage_compatibility_version": "v1.3.0"}
# Vectors, most of the file, do not compress, and finding that out takes longer than writing them.
# See docs/decisions/store.md.
_UNCOMPRESSED = "PRAGMA force_compression='uncompressed'"


def connect(path: Path) -> "duckdb.DuckDBPyConnection":
    """Open a database to write to, in a format that older versions of DuckDB read."""
    connection = duckdb.connect(str(path), config={**CONNECTION, **_READABLE})
    connection.execute(_UNCOMPRESSED)
    return connection


def statements(file: str) -> str:
    """Return the text of one of the SQL files."""
    return resources.files("pipeline.inspection").joinpath(file).read_text(encoding="utf-8")


def write_template(path: Path) -> None:
    """Write the database anew to a path that is free."""
    with connect(path) as connection:
        connection.begin()
        tables = statements("tables.sql")
        connection.execute(tables)
        table = ""
        for line in tables.splitlines():
            if created := _TABLE.fullmatch(line):
                table = created[1]
                connection.execute(f"COMMENT ON TABLE {table} IS {_quoted(created[2])}")
            elif column := _COLUMN.fullmatch(line):
                connection.execute(f"COMMENT ON COLUMN {table}.{column[1]} IS {_quoted(column[2])}")
        connection.execute(f"CREATE VIEW nights AS {NIGHTS}")
        connection.execute(statements("views.sql"))
        connection.commit()
        connection.execute("CHECKPOINT")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    TEMPLATE.unlink(missing_ok=True)
    write_template(TEMPLATE)
