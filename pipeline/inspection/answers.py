"""What an inspection answers with: rows under columns, tables by name, everything about one tool."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class Rows:
    """The first rows of an answer; `more` is how many were left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> tuple[Any, ...]:
        """The values of one column."""
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows)

    def only(self, *names: str) -> "Rows":
        """The same rows with these columns alone."""
        return Rows(names, tuple(zip(*map(self.column, names), strict=True)), self.more)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict: columns, rows as objects, more. A repeated column gets `:1`, `:2`, …, as in DuckDB."""
        names: list[str] = []
        for name in self.columns:
            count = self.columns[: len(names)].count(name)
            names.append(f"{name}:{count}" if count else name)
        rows = [{name: to_json(value) for name, value in zip(names, row, strict=True)} for row in self.rows]
        return {"columns": names, "rows": rows, "more": self.more}


@dataclass(frozen=True, slots=True)
class Table:
    """A table, view or macro that can be asked. `rows` is None for a macro: it depends on what it is given."""

    name: str
    kind: str
    comment: str
    rows: int | None

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        return {"name": self.name, "kind": self.kind, "comment": self.comment, "rows": self.rows}


@dataclass(frozen=True, slots=True)
class ToolPage:
    """All that a snapshot knows of one tool.

    `documents` are the texts that each signal reads; `expansion` is the row of `expansions`, with what it cost, and
    None where nobody wrote words; `phrases` say which other tools have the same; the rest are rows of the tables and
    macros of those names.
    """

    record: ToolRecord
    record_hash: str
    documents: Mapping[str, str]
    expansion: Mapping[str, Any] | None
    phrases: Rows
    verdicts: Rows
    siblings: Rows
    neighbours: Rows
    failures: Rows
    notices: Rows
    history: Rows

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        tables = ("phrases", "verdicts", "siblings", "neighbours", "failures", "notices", "history")
        return {
            **self.record.to_json(),
            "record_hash": self.record_hash,
            "documents": dict(self.documents),
            "expansion": to_json(self.expansion),
            **{name: getattr(self, name).to_json()["rows"] for name in tables},
        }


def to_json(value: Any) -> Any:
    """A value as DuckDB gives it, as JSON has it: times in ISO 8601, what has no number as null, the rest as text."""
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)
