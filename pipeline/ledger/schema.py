"""The tables and views of the ledger, with their comments: brought up to date when a ledger is opened."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from pipeline.ledger.comments import COMMENTS, VECTORS
from pipeline.ledger.migrations import MIGRATIONS, apply, is_empty, pending
from pipeline.ledger.private import keep_connection_private
from router.fingerprint import fingerprint

_VIEWS = """
CREATE OR REPLACE VIEW phrases AS
    SELECT tool_id, generator, model, unnest(from_json(expansion -> 'user_phrases', '["VARCHAR"]')) AS phrase
    FROM expansions;
CREATE OR REPLACE VIEW quarantined AS
    SELECT * EXCLUDE (state, told, decided_at) FROM quarantine WHERE state = 'held' ORDER BY since, tool_id;
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


def update_tables(
    connection: "duckdb.DuckDBPyConnection",
    path: Path,
    before: Callable[[int], None] = lambda _: None,
) -> None:
    """Run the migrations that the file has not had, and write views and comments, all in one transaction.

    `before` is called with the number of the last migration before a ledger that holds anything is changed. Raises
    RunAborted where a newer version wrote the file.
    """
    steps = pending(connection, path)
    # In the comment of the sequence stands which views and comments the file has: reading all comments takes 60 ms.
    mark = f"The numbers of the runs. Schema {fingerprint([MIGRATIONS[-1].number, _VIEWS, COMMENTS])[:16]}."
    if not steps and connection.execute("SELECT 1 FROM duckdb_sequences() WHERE comment = ?", [mark]).fetchall():
        return
    if steps and not is_empty(connection):
        before(steps[-1].number)
    with transaction(connection):
        apply(connection, steps)
        connection.execute(_VIEWS)
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        comments = [(name, comment, columns) for name, (comment, columns) in COMMENTS.items()]
        _write_comments(connection, comments, views=[name for (name,) in views])
        connection.execute(f"COMMENT ON SEQUENCE run_ids IS {quoted(mark)}")


@contextmanager
def transaction(connection: "duckdb.DuckDBPyConnection") -> Iterator[None]:
    """Commit what the block does, or none of it."""
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    keep_connection_private(connection)


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
        statements.append(f"COMMENT ON {kind} {name} IS {quoted(comment)};")
        statements += [f"COMMENT ON COLUMN {name}.{column} IS {quoted(text)};" for column, text in columns.items()]
    connection.execute(" ".join(statements))


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
