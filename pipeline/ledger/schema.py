"""The tables and views of the ledger, with their comments: brought up to date when a ledger is opened.

A ledger holds answers that were paid for, of any earlier version: what is there keeps its meaning. To change the
tables, append a migration, add the comments on its columns to views.sql, and leave the others as they are.
"""

from importlib import resources
from pathlib import Path
from typing import NamedTuple

import duckdb

from pipeline.errors import RunAborted
from pipeline.ledger.backups import back_up_before_migration
from pipeline.ledger.database import Database, contents, quoted, utc_now
from router.fingerprint import fingerprint

# Of versions that numbered nothing: each is added where it is missing, such a ledger may have any.
_FIRST = """
CREATE SEQUENCE IF NOT EXISTS run_ids;
CREATE TABLE IF NOT EXISTS runs (
    run_id BIGINT PRIMARY KEY, catalog VARCHAR, started_at TIMESTAMP, finished_at TIMESTAMP,
    outcome VARCHAR, snapshot VARCHAR, message VARCHAR, counts JSON);
ALTER TABLE runs ADD COLUMN IF NOT EXISTS area VARCHAR;
CREATE TABLE IF NOT EXISTS records (
    record_hash VARCHAR, tool_id VARCHAR, catalog VARCHAR, record JSON, first_run BIGINT);
CREATE TABLE IF NOT EXISTS rejections (
    run_id BIGINT, file VARCHAR, pointer VARCHAR, reason VARCHAR);
CREATE TABLE IF NOT EXISTS notices (
    run_id BIGINT, tool_id VARCHAR, kind VARCHAR, message VARCHAR, file VARCHAR, pointer VARCHAR);
CREATE TABLE IF NOT EXISTS expansions (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    prompt_version INTEGER, expansion JSON, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
ALTER TABLE expansions ADD COLUMN IF NOT EXISTS completion VARCHAR;
CREATE TABLE IF NOT EXISTS failures (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    kind VARCHAR, message VARCHAR, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
ALTER TABLE failures ADD COLUMN IF NOT EXISTS completion VARCHAR;
CREATE TABLE IF NOT EXISTS questions (
    expansion_key VARCHAR, instructions_hash VARCHAR, message VARCHAR, parameters JSON, run_id BIGINT,
    created_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS instructions (
    instructions_hash VARCHAR, prompt_version INTEGER, instructions VARCHAR, run_id BIGINT);
CREATE TABLE IF NOT EXISTS assessments (
    assessment_key VARCHAR, run_id BIGINT, created_at TIMESTAMP, assessment JSON);
CREATE TABLE IF NOT EXISTS batches (
    token VARCHAR, server VARCHAR, model VARCHAR, rung INTEGER, prompt_version INTEGER, run_id BIGINT,
    created_at TIMESTAMP, file_id VARCHAR, asked_at TIMESTAMP, batch_id VARCHAR, outcome VARCHAR, settled_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS batch_requests (
    token VARCHAR, line INTEGER, key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, name VARCHAR);
"""
_SOURCE_READINGS = """
CREATE TABLE IF NOT EXISTS source_readings (
    catalog VARCHAR, area VARCHAR, source_key VARCHAR, source VARCHAR, read_at TIMESTAMP, run_id BIGINT,
    content_hash VARCHAR, snapshot VARCHAR, accepted BOOLEAN);
CREATE TABLE IF NOT EXISTS source_contents (content_hash VARCHAR, tool_ids JSON, content BLOB);
"""
_QUARANTINE = """
CREATE TABLE IF NOT EXISTS quarantine (
    catalog VARCHAR, area VARCHAR, tool_id VARCHAR, content_hash VARCHAR, kind VARCHAR, state VARCHAR, since TIMESTAMP,
    run_id BIGINT, requests INTEGER, probes INTEGER, distance DOUBLE, examples JSON, told BOOLEAN,
    decided_at TIMESTAMP);
"""


class Migration(NamedTuple):
    """A step to the next version of the tables: what it changes, in a sentence, and its SQL."""

    sentence: str
    sql: str


# Append here: the first brings tables to version 1. A migration that a release has is never changed.
MIGRATIONS: tuple[Migration, ...] = (
    Migration("The tables of the versions before numbers, whole.", _FIRST),
    Migration("What each source gave at its last reads.", _SOURCE_READINGS),
    Migration("Tools that are held back alone, and those that were released.", _QUARANTINE),
)
_HISTORY = "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, sentence VARCHAR, applied_at TIMESTAMP)"


def file_version(connection: "duckdb.DuckDBPyConnection") -> int:
    """Return the version of a file's tables; 0 of a new file, and of versions that numbered nothing."""
    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'migrations'").fetchall():
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchall()[0][0])


def require_known(version: int, path: Path) -> None:
    """Raise RunAborted where a newer version of Quartermaster wrote a ledger."""
    if version > len(MIGRATIONS):
        raise RunAborted(
            f"the ledger {path} was written by a newer version of Quartermaster (its tables have version {version}, "
            f"this one knows {len(MIGRATIONS)}): install that version, or restore a copy from before it with "
            "`quartermaster ledger restore`"
        )


def update_tables(database: Database) -> None:
    """Run the migrations that the file has not had, and write views and comments, all in one transaction.

    A ledger that holds anything is copied before it is changed. Raises RunAborted where a newer version wrote the file.
    """
    version, latest = file_version(database.connection), len(MIGRATIONS)
    require_known(version, database.path)
    views = resources.files("pipeline.ledger").joinpath("views.sql").read_text(encoding="utf-8")
    # In the comment of the sequence stands which views and comments the file has: reading all comments takes 60 ms.
    mark = f"The numbers of the runs. Schema {fingerprint([latest, views])[:16]}."
    if version == latest and database.rows("SELECT 1 FROM duckdb_sequences() WHERE comment = ?", [mark]):
        return
    if version < latest and contents(database.connection):
        back_up_before_migration(database.connection, database.path, latest)
    with database.transaction():
        database.execute(_HISTORY)
        for number, migration in enumerate(MIGRATIONS[version:], version + 1):
            database.execute(migration.sql)
            database.execute("INSERT INTO migrations VALUES (?, ?, ?)", [number, migration.sentence, utc_now()])
        for (comment,) in database.rows(views):
            database.execute(comment)
        database.execute(f"COMMENT ON SEQUENCE run_ids IS {quoted(mark)}")
