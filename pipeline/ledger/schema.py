"""The tables and views of the ledger, with their comments.

A ledger holds answers that were paid for, of any earlier version: a change only adds tables and columns. The keys and
the columns that are there keep their meaning.
"""

from collections.abc import Mapping, Sequence

import duckdb

from pipeline.ledger.comments import COMMENTS, VECTORS
from router.fingerprint import fingerprint

_SCHEMA = """
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
CREATE TABLE IF NOT EXISTS source_readings (
    catalog VARCHAR, area VARCHAR, source_key VARCHAR, source VARCHAR, read_at TIMESTAMP, run_id BIGINT,
    content_hash VARCHAR, snapshot VARCHAR, accepted BOOLEAN);
CREATE TABLE IF NOT EXISTS source_contents (content_hash VARCHAR, tool_ids JSON, content BLOB);
CREATE OR REPLACE VIEW phrases AS
    SELECT tool_id, generator, model, unnest(from_json(expansion -> 'user_phrases', '["VARCHAR"]')) AS phrase
    FROM expansions;
CREATE OR REPLACE VIEW answers AS
    SELECT expansion_key, tool_id, generator, model, expansions.prompt_version, message AS question, instructions,
        parameters, completion, expansion, NULL::VARCHAR AS kind, NULL::VARCHAR AS failure, prompt_tokens,
        completion_tokens, cost_usd, expansions.run_id, expansions.created_at
    FROM expansions LEFT JOIN questions USING (expansion_key) LEFT JOIN instructions USING (instructions_hash)
    UNION ALL
    SELECT expansion_key, tool_id, generator, model, prompt_version, questions.message, instructions, parameters,
        completion, NULL, kind, failures.message, prompt_tokens, completion_tokens, cost_usd, failures.run_id,
        failures.created_at
    FROM failures LEFT JOIN questions USING (expansion_key) LEFT JOIN instructions USING (instructions_hash);
"""


def create_tables(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create the tables, columns and views that the file lacks, with their comments."""
    # In the comment of the sequence stands which schema the file has: reading all comments takes 60 ms.
    mark = f"The numbers of the runs. Schema {fingerprint([_SCHEMA, COMMENTS])[:16]}."
    if connection.execute("SELECT 1 FROM duckdb_sequences() WHERE comment = ?", [mark]).fetchall():
        return
    comments = [(name, comment, columns) for name, (comment, columns) in COMMENTS.items()]
    connection.execute(f"BEGIN; {_SCHEMA} COMMIT")
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    _write_comments(connection, comments, views=[name for (name,) in views])
    connection.execute(f"COMMENT ON SEQUENCE run_ids IS {_quoted(mark)}")


def create_vectors(connection: "duckdb.DuckDBPyConnection", dim: int) -> str:
    """Create the table of vectors of so many dimensions, and return its name."""
    table = f"vectors_{int(dim)}"
    known = connection.execute("SELECT comment FROM duckdb_tables() WHERE table_name = ?", [table]).fetchall()
    if not known or not known[0][0]:
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (text_hash VARCHAR, model_key VARCHAR, vector FLOAT[{int(dim)}])"
        )
        comment, columns = VECTORS
        _write_comments(connection, [(table, comment.format(dim=dim), columns)])
    return table


def _write_comments(
    connection: "duckdb.DuckDBPyConnection",
    comments: Sequence[tuple[str, str, Mapping[str, str]]],
    views: Sequence[str] = (),
) -> None:
    """Write the comments on tables, or on `views`: name, comment, and the comments on the columns."""
    statements = []
    for name, comment, columns in comments:
        kind = "VIEW" if name in views else "TABLE"
        statements.append(f"COMMENT ON {kind} {name} IS {_quoted(comment)};")
        statements += [f"COMMENT ON COLUMN {name}.{column} IS {_quoted(text)};" for column, text in columns.items()]
    connection.execute(f"BEGIN; {' '.join(statements)} COMMIT")


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
