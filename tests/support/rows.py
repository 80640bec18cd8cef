"""Rows of JSON in files, written whole or one of them changed; and rows of databases."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def edit(path: Path, position: int, **fields: Any) -> None:
    """Change fields of the row at a position."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[position].update(fields)
    write_rows(path, rows)


def select(place: Path, statement: str, *, read_only: bool = True) -> list[tuple[Any, ...]]:
    """Return the rows of a statement about a database, or about that in a snapshot's folder."""
    file = place / "catalog.duckdb" if place.is_dir() else place
    with duckdb.connect(str(file), read_only=read_only) as connection:
        return connection.execute(statement).fetchall()
