"""The versions of the ledger's tables: an ordered list of migrations, of which a file remembers those it had.

A ledger holds answers that were paid for, of any earlier version: what is there keeps its meaning. To change the
tables, append a migration with the next number, add the comments on its columns to `comments`, and leave the others as
they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted

# The tables of the versions that numbered nothing. They are added where they are missing: such a ledger may have any.
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


@dataclass(frozen=True, slots=True)
class Migration:
    """A step from one version of the tables to the next: SQL, or a function of the connection.

    It runs in a transaction, together with all that follow it. `sentence` says what it changes.
    """

    number: int
    sentence: str
    step: "str | Callable[[duckdb.DuckDBPyConnection], None]"

    def run(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Change the tables."""
        if isinstance(self.step, str):
            connection.execute(self.step)
        else:
            self.step(connection)


# Append here. A migration that a release has is never changed.
MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "The tables of the versions before numbers, whole.", _FIRST),
    Migration(2, "What each source gave at its last reads.", _SOURCE_READINGS),
    Migration(3, "Tools that are held back alone, and those that were released.", _QUARANTINE),
)

_HISTORY = "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, sentence VARCHAR, applied_at TIMESTAMP)"


def file_version(connection: "duckdb.DuckDBPyConnection") -> int:
    """Return the version of a file's tables; 0 of a new file, and of versions that numbered nothing."""
    tables = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'migrations'").fetchall()
    if not tables:
        return 0
    rows = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchall()
    return int(rows[0][0])


def is_empty(connection: "duckdb.DuckDBPyConnection") -> bool:
    """Return whether a file has no table at all."""
    return not connection.execute("SELECT 1 FROM duckdb_tables() WHERE NOT internal").fetchall()


def pending(
    connection: "duckdb.DuckDBPyConnection", path: Path, migrations: Sequence[Migration] = MIGRATIONS
) -> tuple[Migration, ...]:
    """Return the migrations that a file has not had, in order.

    Raises RunAborted where a newer version of Quartermaster wrote the file.
    """
    version = file_version(connection)
    if version > migrations[-1].number:
        raise RunAborted(
            f"the ledger {path} was written by a newer version of Quartermaster (its tables have version {version}, "
            f"this one knows {migrations[-1].number}): install that version, or restore a copy from before it with "
            "`quartermaster ledger restore`"
        )
    return tuple(migration for migration in migrations if migration.number > version)


def apply(connection: "duckdb.DuckDBPyConnection", migrations: Sequence[Migration]) -> None:
    """Run migrations and remember them. The caller holds a transaction."""
    connection.execute(_HISTORY)
    for migration in migrations:
        migration.run(connection)
        connection.execute(
            "INSERT INTO migrations VALUES (?, ?, ?)",
            [migration.number, migration.sentence, datetime.now(UTC).replace(tzinfo=None)],
        )
