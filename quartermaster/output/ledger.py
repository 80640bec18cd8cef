"""The ledger on a terminal, or as JSON: what it holds, and what its commands did."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from pipeline.inspection.reading import fetch, first_lines
from pipeline.inspection.results import ResultRows
from pipeline.ledger.commands import Backup, Checked, Compacted, ReadableLedger, Restored, open_to_read
from quartermaster.output.formatting import cell_text
from quartermaster.output.rows import layout
from quartermaster.output.terminal import key_value_table, out, plain_text, print_heading, print_json, say, tell
from router.errors import SettingsInvalid

_MB = 1e6
_SECTIONS = {
    "Answers": (
        "SELECT generator, model, count(*) AS answers, sum(prompt_tokens)::BIGINT AS prompt_tokens, "
        "sum(completion_tokens)::BIGINT AS completion_tokens, sum(cost_usd) AS cost_usd "
        "FROM expansions GROUP BY ALL ORDER BY answers DESC, generator, model"
    ),
    "Failures": (
        "SELECT model, kind, count(*) AS failures, sum(cost_usd) AS cost_usd FROM failures GROUP BY ALL "
        "ORDER BY failures DESC, model, kind"
    ),
    "Runs": ("SELECT run_id, catalog, started_at, finished_at, outcome, message FROM runs ORDER BY run_id DESC"),
    "Open batches": "SELECT token, model, batch_id, created_at FROM batches WHERE outcome IS NULL ORDER BY created_at",
}


def show_ledger(workspace: Path, sql: str | None, limit: int, *, as_json: bool) -> None:
    """Print an overview of a workspace's ledger, or the rows of a SELECT. Raises SettingsInvalid for wrong SQL."""
    readable = open_to_read(workspace)
    with readable.connection as connection:
        # The ledger alone: SQL reads no other file.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        if sql is None:
            sections = {title: fetch(connection, query, limit) for title, query in _SECTIONS.items()}
        else:
            sections = {"": _rows(connection, sql, limit)}
    if as_json:
        found = {title.lower().replace(" ", "_") or "rows": _objects(rows) for title, rows in sections.items()}
        print_json({**_about(readable), **found})
        return
    if readable.note:
        say(readable.note, "dim")
    if sql is None:
        size = f"{readable.file.stat().st_size / _MB:,.1f} MB"
        out.print(key_value_table([("ledger", str(readable.file)), ("size", size)]))
    for title, rows in sections.items():
        if title and rows.rows:
            print_heading(title)
        if rows.rows or not title:
            out.print(layout(rows, out.width))
        if rows.more:
            out.print(plain_text(f"and {rows.more:,} more: --limit {len(rows.rows) + rows.more}", "dim"))


def show_backup(made: Backup, *, as_json: bool) -> None:
    """Print what was copied, and the backup's path last."""
    if as_json:
        print_json({**asdict(made), "made_at": made.made_at.isoformat()})
        return
    when = f" as it was at {made.made_at:%Y-%m-%d %H:%M:%S} UTC: a build runs" if "backups" in made.source.parts else ""
    say(f"copied {made.source}{when}; {made.size / _MB:,.1f} MB, opened and whole")
    tell(str(made.file), "bold")


def show_restored(restored: Restored, *, as_json: bool) -> None:
    """Print what the ledger was restored from, and where the file before it is."""
    if as_json:
        print_json(asdict(restored))
        return
    made_at = datetime.fromtimestamp(restored.source.stat().st_mtime, UTC)
    line = f"{restored.ledger} was restored from {restored.source} of {made_at:%Y-%m-%d %H:%M:%S} UTC"
    say(line)
    if restored.replaced:
        say(f"the file before it is {restored.replaced}")


def show_checked(checked: Checked, *, as_json: bool) -> bool:
    """Print the findings about a ledger; return whether nothing is wrong."""
    if as_json:
        print_json(asdict(checked))
        return not checked.problems
    version = "unknown" if checked.version is None else str(checked.version)
    rows = ", ".join(f"{table} {count:,}" for table, count in checked.rows.items() if count)
    out.print(key_value_table([("ledger", str(checked.file)), ("version", version), ("rows", rows or "none")]))
    for problem in checked.problems:
        tell(problem)
    if not checked.problems:
        out.print(plain_text(checked.note or "nothing is wrong"))
    return not checked.problems


def show_compacted(done: Compacted, *, as_json: bool) -> None:
    """Print the size before and after."""
    if as_json:
        print_json(asdict(done))
        return
    dropped = f", without {done.vectors:,} vectors" if done.vectors else ""
    out.print(plain_text(f"{done.ledger}: {done.before / _MB:,.1f} MB → {done.after / _MB:,.1f} MB{dropped}"))


def _rows(connection: "duckdb.DuckDBPyConnection", sql: str, limit: int) -> ResultRows:
    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise SettingsInvalid("the ledger is read-only: give one SELECT")
        return fetch(connection, sql, limit)
    except duckdb.Error as error:
        raise SettingsInvalid(f"DuckDB refused the SQL: {first_lines(error)}") from None


def _about(readable: ReadableLedger) -> dict[str, object]:
    return {
        "ledger": str(readable.file),
        "made_at": readable.made_at.isoformat(),
        "held_by": readable.holder,
    }


def _objects(rows: ResultRows) -> list[dict[str, object]]:
    return [dict(zip(rows.columns, map(_plain, row), strict=True)) for row in rows.rows]


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, int | float | str) else cell_text(value)
