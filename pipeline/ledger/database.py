"""The open database of a ledger: statements, and Arrow tables in and out."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.ledger.files import keep_private

Parameters = Sequence[Any] | Mapping[str, Any]


class Database:
    """A connection to a ledger. Each statement is committed by itself, but for those of a `transaction`."""

    # Types of DuckDB are quoted in annotations: a flow outlives its modules in Prefect's threads, and DuckDB reports
    # each of its types that is still held at exit, on the terminal.

    def __init__(self, connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
        self.connection = connection
        self.path = path

    def execute(self, statement: str, parameters: Parameters = ()) -> None:
        """Run a statement that returns nothing."""
        self.connection.execute(statement, parameters)

    def rows(self, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Return all rows: a result that is not at its end keeps the connection from any other work."""
        return self.connection.execute(statement, parameters).fetchall()

    def value(self, statement: str, parameters: Parameters = ()) -> Any:
        """Return the only value of a result of one row."""
        return self.rows(statement, parameters)[0][0]

    def table(self, statement: str, parameters: Parameters = ()) -> pa.Table:
        """Return a result as an Arrow table."""
        return self.connection.sql(statement, params=parameters).to_arrow_table()

    def insert(self, table: str, columns: Mapping[str, Any], unless: str | None = None) -> None:
        """Insert rows by column name, through Arrow: 100,000 vectors take 1.2 s, row by row 440 s.

        A column that is a single value has it in each row. `unless` is a condition on a stored row `t` and a new row
        `n`: new rows that it holds for are left out.
        """
        lists = {name: values for name, values in columns.items() if isinstance(values, list | pa.Array)}
        rows = pa.table(lists)
        if not len(rows):
            return
        missing = f"WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE {unless})" if unless else ""
        same = {name: value for name, value in columns.items() if name not in lists}
        constants = "".join(f", ${name} AS {name}" for name in same)
        with self.named(rows) as name:
            new = f"(SELECT *{constants} FROM {name}) n"
            self.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {new} {missing}", same)
        keep_private(self.path)

    @contextmanager
    def named(self, table: pa.Table) -> Iterator[str]:
        """Yield the name under which SQL can read an Arrow table inside the `with` block."""
        self.connection.register("arrow_rows", table)
        try:
            yield "arrow_rows"
        finally:
            self.connection.unregister("arrow_rows")

    def keys(self, keys: Sequence[str]) -> AbstractContextManager[str]:
        """Do the same for a table whose only column, `key`, has these texts."""
        return self.named(pa.table({"key": pa.array(keys, pa.string())}))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block does, or none of it."""
        with transaction(self.connection):
            yield
        keep_private(self.path)


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


def columns_of(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return these attributes of some objects as columns."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def utc_now() -> datetime:
    """Return the time in UTC, without a time zone: DuckDB reads TIMESTAMPTZ only where pytz is installed."""
    return datetime.now(UTC).replace(tzinfo=None)
