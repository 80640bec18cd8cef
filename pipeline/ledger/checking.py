"""Check a ledger: does it open, is everything in it readable, and does it fit together?"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger.backups import newest_copy
from pipeline.ledger.lock import is_locked
from pipeline.ledger.maintenance import existing
from pipeline.ledger.migrations import file_version, pending
from pipeline.ledger.opening import LedgerDamaged, connect_to_read

# What is wrong where the statement counts anything: {0} is the count, {1} a second figure or an example.
_CHECKS = {
    "{0:,} answers belong to no run, such as run {1}": (
        "SELECT count(*), min(run_id) FROM expansions ANTI JOIN runs USING (run_id)"
    ),
    "{0:,} questions have lost their instructions, such as {1}": (
        "SELECT count(*), min(expansion_key) FROM questions ANTI JOIN instructions USING (instructions_hash)"
    ),
    "{0:,} requests belong to no batch, such as {1}": (
        "SELECT count(*), min(key) FROM batch_requests ANTI JOIN batches USING (token)"
    ),
    "{0:,} keys have several paid answers: {1} US dollars were paid twice": (
        "SELECT count(*), round(sum(twice), 6) FROM (SELECT sum(cost_usd) - max(cost_usd) AS twice FROM expansions "
        "WHERE cost_usd > 0 GROUP BY expansion_key HAVING count(*) > 1)"
    ),
    "{0:,} answers are no JSON with a phrase, such as that of {1}": (
        "SELECT count(*), min(tool_id) FROM expansions WHERE NOT coalesce(json_valid(expansion) "
        "AND json_array_length(expansion -> 'user_phrases') > 0, false)"
    ),
    "{0:,} records are no JSON, such as that of {1}": (
        "SELECT count(*), min(tool_id) FROM records WHERE NOT coalesce(json_valid(record), false)"
    ),
}
_OPEN_RUNS = "SELECT count(*), min(run_id) FROM runs WHERE outcome = 'running'"
_BROKEN = """
    SELECT count(*), min(text_hash) FROM {0}
    WHERE vector IS NULL OR NOT isfinite(array_inner_product(vector, vector))
"""
_TWICE = """
    SELECT count(*), min(text_hash)
    FROM (SELECT text_hash FROM {0} GROUP BY text_hash, model_key HAVING count(*) > 1)
"""
_WIDTHS = """
    SELECT count(*), min(model_key)
    FROM (SELECT model_key FROM ({0}) GROUP BY model_key HAVING count(DISTINCT dim) > 1)
"""


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings about a ledger, or about the copy that was read while a build writes: `problems` are sentences.

    `version` is that of its tables, `rows` counts them by table; None and empty where it does not open. `note` says
    that the next build brings an older ledger up to date; its contents are checked then.
    """

    file: Path
    version: int | None
    rows: dict[str, int]
    problems: tuple[str, ...]
    note: str = ""


def check(workspace: Path, file: Path | None = None) -> Checked:
    """Check the ledger of a workspace, or a `file` that may be a backup of one.

    While a build writes, its newest copy is checked. Raises RunAborted where there is no ledger, or no copy yet;
    SettingsInvalid where the file is none.
    """
    if file is not None and not file.is_file():
        raise SettingsInvalid(f"{file} is no file: name a backup of a ledger")
    writing = file is None and is_locked(workspace)
    path = file or (newest_copy(workspace) if writing else None) or existing(workspace)
    try:
        connection = connect_to_read(path)
    except LedgerDamaged as error:
        remedy = "" if file else "; the next build restores it, or `quartermaster ledger restore` does"
        return Checked(path, None, {}, (f"it cannot be read: {error}{remedy}",))
    with connection:
        rows, version = _row_counts(connection), file_version(connection)
        try:
            steps = pending(connection, path)
        except RunAborted as error:
            return Checked(path, version, rows, (str(error),))
        if steps:
            note = f"its tables have version {version}: the next build brings them to {steps[-1].number}"
            return Checked(path, version, rows, (), note)
        return Checked(path, version, rows, tuple(_content_problems(connection, rows, writing)))


def _content_problems(connection: "duckdb.DuckDBPyConnection", rows: dict[str, int], writing: bool) -> list[str]:
    checks = dict(_CHECKS)
    if not writing:
        checks["{0:,} runs were left open, such as run {1}: the next build closes them"] = _OPEN_RUNS
    widths = [table for table in rows if table.startswith("vectors_")]
    for table in widths:
        checks[f"{{0:,}} vectors of {table} are no numbers, such as that of {{1}}"] = _BROKEN.format(table)
        checks[f"{{0:,}} texts have two vectors in {table}, such as {{1}}"] = _TWICE.format(table)
    if len(widths) > 1:
        union = " UNION ALL ".join(f"SELECT model_key, '{table}' AS dim FROM {table}" for table in widths)
        checks["{0:,} models have vectors of several lengths, such as {1}"] = _WIDTHS.format(union)
    problems = []
    for sentence, statement in checks.items():
        ((count, example),) = connection.execute(statement).fetchall()
        if count:
            problems.append(sentence.format(count, example))
    return problems


def _row_counts(connection: "duckdb.DuckDBPyConnection") -> dict[str, int]:
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL").fetchall()
    return {table: int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0]) for (table,) in tables}
