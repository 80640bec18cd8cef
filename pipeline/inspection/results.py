"""Hold the results of an inspection: rows under columns, tables by name, everything about one tool."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

import msgspec

from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class ResultRows:
    """The first rows of a result; `more` is how many were left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> tuple[Any, ...]:
        """Return the values of one column."""
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def only(self, *names: str) -> "ResultRows":
        """Return the same rows with these columns only."""
        return ResultRows(names, tuple(zip(*map(self.column, names), strict=True)), self.more)

    def _repr_html_(self) -> str:
        """Return a table for notebooks. All text in it is escaped: catalogs are untrusted."""

        def row(values: Iterable[Any], tag: str) -> str:
            cells = "".join(f"<{tag}>{escape('' if value is None else str(value))}</{tag}>" for value in values)
            return f"<tr>{cells}</tr>"

        body = "".join(row(values, "td") for values in self.rows)
        more = f"<p>and {self.more:,} more</p>" if self.more else ""
        return f"<table>{row(self.columns, 'th')}{body}</table>{more}"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict: columns, rows as objects, more.

        A repeated column gets `:1`, `:2`, …, as in DuckDB.
        """
        names: list[str] = []
        for name in self.columns:
            count = self.columns[: len(names)].count(name)
            names.append(f"{name}:{count}" if count else name)
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"columns": names, "rows": to_json(rows), "more": self.more}


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table, view or macro that can be queried. `rows` is None for a macro, whose rows depend on its argument."""

    name: str
    kind: str
    comment: str
    rows: int | None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ToolInspection:
    """All that a snapshot knows of one tool.

    `documents` are the texts that each signal reads; `expansion` is the row of `expansions` with its cost, None where
    the tool has none; `phrases` have the other tools with the same phrase; `needed_by` are the tools that need this one
    to run first; the rest are rows of the tables and macros of those names.
    """

    record: ToolRecord
    record_hash: str
    documents: Mapping[str, str]
    expansion: Mapping[str, Any] | None
    phrases: ResultRows
    verdicts: ResultRows
    siblings: ResultRows
    prerequisites: ResultRows
    needed_by: ResultRows
    neighbours: ResultRows
    failures: ResultRows
    notices: ResultRows
    history: ResultRows

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            **self.record.to_json(),
            "record_hash": self.record_hash,
            "documents": dict(self.documents),
            "expansion": to_json(self.expansion),
            **{name: part.to_json()["rows"] for name, part in parts.items() if isinstance(part, ResultRows)},
        }


def to_json(value: Any) -> Any:
    """Return a value of DuckDB's as JSON: times in ISO 8601, NaN and infinity as null, other types as text."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
