"""Rows of JSON in files: written whole, and one of them changed."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def edit(path: Path, position: int, **fields: Any) -> None:
    """Change fields of the row at a position."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[position].update(fields)
    write_rows(path, rows)
