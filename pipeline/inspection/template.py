"""The database that `catalog.duckdb` begins as: empty tables, views and macros, with their comments.

Making them takes some 300 statements; copying the packaged file takes none. After a change to the SQL files write it
anew: `python -m pipeline.inspection.template`.
"""

from importlib import resources
from pathlib import Path

import duckdb

from pipeline.ledger import CONNECTION

TEMPLATE = Path(__file__).parent / "template.duckdb"
_STATEMENTS = ("tables.sql", "comments.sql", "views.sql", "costs.sql")
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
        for file in _STATEMENTS:
            connection.execute(statements(file))
        connection.commit()
        connection.execute("CHECKPOINT")


if __name__ == "__main__":
    TEMPLATE.unlink(missing_ok=True)
    write_template(TEMPLATE)
