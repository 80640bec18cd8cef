"""A connection to snapshots that can only read them, and bounded answers over it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.inspection import comparing
from pipeline.inspection.answers import Rows
from router.contract import CATALOG_DB
from router.errors import SettingsInvalid, SnapshotInvalid

# duckdb's types stand in quotes below: a function that outlives the interpreter's end and holds one makes duckdb 2.0
# print a page about leaked instances.
_MAX_LINES = 3  # of an error of DuckDB's
# As the ledger's: nothing is fetched at run time, no Python variable is picked up; and nothing is spilled to disk.
_CONNECTION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
_LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")


def connect(snapshots: Mapping[str, Path]) -> "duckdb.DuckDBPyConnection":
    """A database in memory with these snapshots attached by name, and no way to any other file.

    In memory, so that neither the settings nor the locks meet another connection of this process to the same file.
    Raises SnapshotInvalid where one cannot be opened.
    """
    connection = duckdb.connect(config=_CONNECTION)
    for name, folder in snapshots.items():
        try:
            connection.execute(comparing.attach(folder / CATALOG_DB, name)).fetchall()
        except duckdb.Error as error:
            connection.close()
            raise SnapshotInvalid(f"{folder / CATALOG_DB} cannot be opened: {first_lines(error)}") from error
    for lock in _LOCKS:
        connection.execute(lock).fetchall()
    return connection


def fetch(
    connection: "duckdb.DuckDBPyConnection", statement: str, limit: int | None, parameters: Sequence[Any] = ()
) -> Rows:
    """The first rows of a statement, and how many more there are; all of them without a limit."""
    if limit is not None and limit < 1:
        raise SettingsInvalid(f"the limit is {limit}, it must be at least 1")
    relation = connection.sql(statement, params=list(parameters))
    rows = (relation if limit is None else relation.limit(limit)).fetchall()
    # Counted by DuckDB, so that what is left out is never brought here.
    more = relation.count("*").fetchall()[0][0] - limit if limit is not None and len(rows) == limit else 0
    return Rows(tuple(relation.columns), tuple(rows), more)


def first_lines(error: Exception) -> str:
    """What is wrong, and what may be meant: after an empty line DuckDB repeats the statement."""
    return " ".join(str(error).partition("\n\n")[0].splitlines()[:_MAX_LINES])
