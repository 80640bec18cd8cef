"""The version of the ledger's tables, which are brought up to date when a ledger is opened: see schema.sql."""

from importlib import resources
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted
from pipeline.ledger.backups import back_up_before_migration
from pipeline.ledger.database import Database, contents, quoted, utc_now
from router.fingerprint import fingerprint

VERSION = 3


def file_version(connection: "duckdb.DuckDBPyConnection") -> int:
    """Return the version of a file's tables; 0 of a new file, and of versions that numbered nothing."""
    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'migrations'").fetchall():
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchall()[0][0])


def require_known(version: int, path: Path) -> None:
    """Raise RunAborted where a newer version of Quartermaster wrote a ledger."""
    if version > VERSION:
        raise RunAborted(
            f"the ledger {path} was written by a newer version of Quartermaster (its tables have version {version}, "
            f"this one knows {VERSION}): install that version, or restore a copy from before it with "
            "`quartermaster ledger restore`"
        )


def update_tables(database: Database) -> None:
    """Add what the file lacks of the tables, and write views and comments, all in one transaction.

    A ledger of an earlier version is copied first. Raises RunAborted where a newer version wrote the file.
    """
    version = file_version(database.connection)
    require_known(version, database.path)
    schema = resources.files("pipeline.ledger").joinpath("schema.sql").read_text(encoding="utf-8")
    # The comment of the sequence says which views and comments the file has: reading all comments takes 60 ms.
    mark = f"The numbers of the runs. Schema {fingerprint([VERSION, schema])[:16]}."
    if database.rows("SELECT 1 FROM duckdb_sequences() WHERE comment = ?", [mark]):
        return
    if version < VERSION and contents(database.connection):
        back_up_before_migration(database.connection, database.path, VERSION)
    with database.transaction():
        for (comment,) in database.rows(schema):
            database.execute(comment)
        if version < VERSION:
            sentence = f"The tables of version {VERSION}."
            database.execute("INSERT INTO migrations VALUES (?, ?, ?)", [VERSION, sentence, utc_now()])
        database.execute(f"COMMENT ON SEQUENCE run_ids IS {quoted(mark)}")
