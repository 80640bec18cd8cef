"""Open a connection that can only read snapshots, and fetch bounded results over it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.inspection import comparison_sql
from pipeline.inspection.results import ResultRows
from pipeline.store.deltas.databases import database_file
from router.errors import SettingsInvalid, SnapshotInvalid

# duckdb's types are quoted below: a function that is alive at the interpreter's end and refers to one makes duckdb 2.0
# print a page about leaked instances.
_MAX_LINES = 3  # of an error of DuckDB's
# As the ledger's: fetch nothing at run time, read no Python variable. Also spill nothing to disk.
_CONNECTION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
_LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")


def connect(snapshots: Mapping[str, Path]) -> "duckdb.DuckDBPyConnection":
    """Return a database in memory with these snapshots attached by name, and no access to any other file.

    It is in memory so that its settings and locks affect no other connection of this process to the same file. Raises
    SnapshotInvalid where a snapshot cannot be opened.
    """
    files = {name: database_file(folder) for name, folder in snapshots.items()}
    connection = duckdb.connect(config=_CONNECTION)
    for name, file in files.items():
        try:
            connection.execute(comparison_sql.attach(file, name)).fetchall()
        except duckdb.Error as error:
            connection.close()
            raise SnapshotInvalid(f"{file} cannot be opened: {first_lines(error)}") from error
    for lock in _LOCKS:
        connection.execute(lock).fetchall()
    return connection


def fetch(
    connection: "duckdb.DuckDBPyConnection", statement: str, limit: int | None, parameters: Sequence[Any] = ()
) -> ResultRows:
    """Return the first rows of a statement, and how many more there are; without a limit, all rows."""
    if limit is not None and limit < 1:
        raise SettingsInvalid(f"the limit is {limit}, it must be at least 1")
    relation = connection.sql(statement, params=list(parameters))
    rows = (relation if limit is None else relation.limit(limit)).fetchall()
    # DuckDB counts, so that the rows left out are never fetched.
    more = relation.count("*").fetchall()[0][0] - limit if limit is not None and len(rows) == limit else 0
    return ResultRows(tuple(relation.columns), tuple(rows), more)


def first_lines(error: Exception) -> str:
    """Return an error's first lines; after an empty line DuckDB only repeats the statement."""
    return " ".join(str(error).partition("\n\n")[0].splitlines()[:_MAX_LINES])
