"""Answer questions about a snapshot from its `catalog.duckdb`, read-only. Needs only duckdb and `router`."""

import difflib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from pipeline.inspection import comparison_sql
from pipeline.inspection.results import ResultRows, TableInfo, ToolInspection
from pipeline.store.deltas.databases import database_file
from router.contract import CATALOG_DB, DOCUMENT_SIGNALS, Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.record import ToolRecord
from router.snapshot.opened_files import verify
from router.snapshot.store.pointer import snapshot_folder

DEFAULT_LIMIT = 20
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
    SnapshotInvalid where a snapshot cannot be opened, or its database is not the one of its manifest.
    """
    files = {name: _verified(folder) for name, folder in snapshots.items()}
    connection = duckdb.connect(config=_CONNECTION)
    for name, file in files.items():
        try:
            connection.execute(comparison_sql.attach(file, name)).fetchall()
        except duckdb.Error as error:
            connection.close()
            raise SnapshotInvalid(f"{file} cannot be opened: {first_lines(error)}") from error
    lock(connection)
    return connection


def _verified(folder: Path) -> Path:
    """Return the path of a snapshot's database, hashed once for as long as the file does not change."""
    file, expected = database_file(folder), Manifest.read(folder).files.get(CATALOG_DB, "")
    if file.is_file():
        status = file.stat()
        _verify(folder, expected, (status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns))
    return file


@lru_cache(maxsize=64)
def _verify(folder: Path, expected: str, _status: tuple[int, ...]) -> None:
    verify(folder, CATALOG_DB, expected)


def lock(connection: "duckdb.DuckDBPyConnection") -> None:
    """Let SQL read what is attached, and no other file."""
    for setting in _LOCKS:
        connection.execute(setting).fetchall()


def select(connection: "duckdb.DuckDBPyConnection", statement: str, limit: int, what: str) -> ResultRows:
    """Return the first rows of a SELECT from `what`. Raises SettingsInvalid for other SQL, and for errors of DuckDB."""
    try:
        statements = connection.extract_statements(statement)
        if len(statements) != 1:
            raise SettingsInvalid(f"the SQL holds {len(statements)} statements: give one")
        # DESCRIBE, SHOW and SUMMARIZE are SELECTs too.
        if (kind := statements[0].type) != duckdb.StatementType.SELECT:
            raise SettingsInvalid(f"{what} is read-only: give a SELECT, not {kind.name}; builds write it")
        return fetch(connection, statement, limit)
    except duckdb.Error as error:
        raise SettingsInvalid(f"DuckDB refused the SQL: {first_lines(error)}") from None


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


class Inspection(AbstractContextManager["Inspection"]):
    """An opened snapshot that can be queried. SQL can neither write anything nor read any other file.

    Every result is bounded by a `limit`, and says how many rows it left out. For one thread at a time.
    """

    def __init__(self, folder: Path, manifest: Manifest, connection: "duckdb.DuckDBPyConnection") -> None:
        """Internal: use `open`."""
        self.folder = folder
        self.manifest = manifest
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> "Inspection":
        """Open a snapshot's folder, or a catalog's folder with CURRENT. Raises SnapshotInvalid."""
        folder = snapshot_folder(Path(path))
        manifest = Manifest.read(folder)
        connection = connect({"catalog": folder})
        try:
            connection.execute("USE catalog").fetchall()
            connection.execute("FROM snapshot").fetchall()
        except duckdb.Error as error:
            connection.close()
            why = "has no table `snapshot`, because an older version wrote it"
            if not isinstance(error, duckdb.CatalogException):
                why = f"cannot be read: {first_lines(error)}"
            raise SnapshotInvalid(
                f"{folder / CATALOG_DB} {why}; build the catalog again with --force to inspect it"
            ) from error
        return cls(folder, manifest, connection)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def tables(self) -> tuple[TableInfo, ...]:
        """Return every table, view and macro with its comment."""
        return tuple(
            TableInfo(name, kind, comment, None if kind == "macro" else self._count(name))
            for name, (kind, comment) in self._listed.items()
        )

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return all rows of a statement of our own, by column. Raises duckdb.Error."""
        found = self._connection.execute(statement, parameters)
        columns = [name for name, *_ in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def comment(self, name: str) -> str:
        """Return the comment on a table or view. Raises SettingsInvalid where there is none of that name."""
        kind, comment = self._listed.get(name, ("", ""))
        if kind == "macro":
            raise SettingsInvalid(f"{name} takes a tool: ask it in SQL, FROM {name}('TOOL')")
        if not kind:
            raise SettingsInvalid(f"there is no table or view {name!r}: choose from {', '.join(self._listed)}")
        return comment

    def table(self, name: str, limit: int = DEFAULT_LIMIT) -> ResultRows:
        """Return the first rows of a table or view. Raises SettingsInvalid where there is none of that name."""
        self.comment(name)
        return self._rows(f'FROM "{name}"', limit)

    def sql(self, statement: str, limit: int = DEFAULT_LIMIT) -> ResultRows:
        """Return the first rows of a SELECT. Raises SettingsInvalid for any other SQL, and for errors of DuckDB."""
        return select(self._connection, statement, limit, "a snapshot")

    def changes(self, other: Path, limit: int = DEFAULT_LIMIT) -> ResultRows:
        """Return the changes from another snapshot to this one, as the table `changes`. Raises SnapshotInvalid."""
        before = snapshot_folder(Path(other))
        connection = connect({"before": before, "after": self.folder})
        try:
            return fetch(connection, comparison_sql.changes("before", "after"), limit)
        except duckdb.Error as error:
            raise SnapshotInvalid(f"{before / CATALOG_DB} cannot be compared: {first_lines(error)}") from error
        finally:
            connection.close()

    def tool(self, tool_id: str) -> ToolInspection:
        """Return everything about one tool. Raises SettingsInvalid, with similar ids, where there is none."""
        tools = self._rows("FROM tools WHERE tool_id = ?", 1, [tool_id])
        if not tools:
            raise SettingsInvalid(f"{self.folder.name} has no tool {tool_id!r}{self._near(tool_id)}")
        row = dict(zip(tools.columns, tools.rows[0], strict=True))
        parameters = self._all("SELECT path, type, description, enum, required FROM parameters", tool_id)
        expansions = self._all("FROM expansions", tool_id)
        # A snapshot of an earlier version has fewer columns.
        stored = {name: value for name, value in row.items() if value is not None}
        stored |= {name: json.loads(stored[name]) for name in comparison_sql.JSON_COLUMNS if name in stored}
        record = ToolRecord.from_json(
            {
                **stored,
                "provider": row["provider"],
                "parameters": parameters.to_json()["rows"],
                "origin": {"file": row["origin_file"], "pointer": row["origin_pointer"]},
            }
        )
        return ToolInspection(
            record=record,
            record_hash=row["record_hash"],
            documents={signal.value: row[f"{signal}_document"] for signal in DOCUMENT_SIGNALS},
            expansion=dict(zip(expansions.columns, expansions.rows[0], strict=True)) if expansions else None,
            phrases=self._rows(_PHRASES, None, [tool_id, tool_id]),
            verdicts=self._all("SELECT check_name, consequence, field, text, detail FROM verdicts", tool_id),
            siblings=self._all("SELECT sibling_id FROM siblings", tool_id),
            prerequisites=self._prerequisites(_NEEDS, tool_id),
            needed_by=self._prerequisites(_NEEDED_BY, tool_id),
            neighbours=self._rows("FROM neighbours(?)", None, [tool_id]),
            failures=self._all("SELECT * EXCLUDE tool_id FROM failures", tool_id),
            notices=self._all("SELECT kind, message, file, pointer FROM notices", tool_id),
            history=self._all("SELECT happened_at, run_id, event, detail FROM history", tool_id),
        )

    @cached_property
    def _listed(self) -> dict[str, tuple[str, str]]:
        """Kind and comment of tables, views and macros by name; their rows are not counted here."""
        listed = self._rows(
            "FROM (SELECT 'table' AS kind, table_name AS name, comment FROM duckdb_tables() WHERE NOT internal "
            "UNION ALL SELECT 'view', view_name, comment FROM duckdb_views() WHERE NOT internal "
            "UNION ALL SELECT 'macro', function_name, comment FROM duckdb_functions() "
            "WHERE NOT internal AND function_type = 'table_macro') ORDER BY kind = 'macro', kind, name",
            None,
        )
        return {name: (kind, comment or "") for kind, name, comment in listed.rows}

    def _prerequisites(self, statement: str, tool_id: str) -> ResultRows:
        """Return rows of `prerequisites`; none in a snapshot of an older version, which has no such table."""
        return self._rows(statement, None, [tool_id]) if "prerequisites" in self._listed else ResultRows((), ())

    def _near(self, tool_id: str) -> str:
        ids = {name.lower(): name for name in self._rows("SELECT tool_id FROM tools", None).column("tool_id")}
        near = difflib.get_close_matches(tool_id.lower(), ids, n=3, cutoff=0.5)
        return f": did you mean {' or '.join(repr(ids[name]) for name in near)}" if near else ""

    def _count(self, name: str) -> int:
        return int(self._rows(f'SELECT count(*) FROM "{name}"', None).rows[0][0])

    def _all(self, select: str, tool_id: str) -> ResultRows:
        return self._rows(f"{select} WHERE tool_id = ?", None, [tool_id])

    def _rows(self, statement: str, limit: int | None, parameters: Sequence[Any] = ()) -> ResultRows:
        try:
            return fetch(self._connection, statement, limit, parameters)
        except duckdb.Error as error:
            where = self.folder / CATALOG_DB
            raise SnapshotInvalid(f"{where} cannot be read: {first_lines(error)}; roll back or rebuild") from error


_NEEDS = """
    SELECT parameter, kind, resolver, confidence, evidence, because FROM prerequisites WHERE tool_id = ?
    ORDER BY parameter, confidence DESC, resolver
"""
_NEEDED_BY = """
    SELECT tool_id, parameter, confidence FROM prerequisites WHERE resolver = ?
    ORDER BY confidence DESC, tool_id, parameter
"""
_PHRASES = """
    SELECT own.phrase, list(DISTINCT other.tool_id ORDER BY other.tool_id) FILTER (other.tool_id IS NOT NULL) AS also_of
    FROM phrases own LEFT JOIN phrases other ON lower(other.phrase) = lower(own.phrase) AND other.tool_id <> ?
    WHERE own.tool_id = ? GROUP BY own.position, own.phrase ORDER BY own.position
"""
