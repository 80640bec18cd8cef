"""The reference of tables, views and macros, from a snapshot and a ledger that are built for it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from docs.generators.markdown import code, table
from pipeline.build import build
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.settings import load
from router.contract import CATALOG_DB

_HEAD = """# Tables, views and macros

This page lists what SQL can read: first in the `catalog.duckdb` of a snapshot, then in the `ledger.duckdb` of a
workspace. The same comments are in the files themselves: `duckdb_tables()`, `duckdb_views()` and `duckdb_columns()`
have them. [Inspecting](../inspecting.md) shows what to ask.

A vector has as many elements as the encoder has dimensions, written `n` here. Times are UTC.
"""
_SNAPSHOT = """## A snapshot: `catalog.duckdb`

It is written once, by the build that writes the snapshot, and never changes."""
_LEDGER = """## The ledger: `ledger.duckdb`

One file for all catalogs of a workspace. A build that runs holds it: open the newest copy in `backups/` then, or ask
`quartermaster ledger show`."""
_TOOLS = (
    {"name": "list_charges", "provider": "stripe", "description": "Lists the charges of a customer."},
    {"name": "create_refund", "provider": "stripe", "description": "Refunds a charge in full or in part."},
)
_OBJECTS = """
    SELECT 'table' AS kind, table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT 'view', view_name, comment FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'macro', function_name, comment FROM duckdb_functions()
    WHERE NOT internal AND function_type = 'table_macro'
    ORDER BY name
"""
_COLUMNS = """
    SELECT column_name, data_type, comment FROM duckdb_columns()
    WHERE NOT internal AND table_name = ? ORDER BY column_index
"""
_LENGTH = re.compile(r"FLOAT\[\d+\]")
_DIMENSIONS = re.compile(r"\b(vectors_|Vectors of )1\b")


def page() -> str:
    """Return the page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in _TOOLS), encoding="utf-8")
        workspace = folder / "workspace"
        chosen = {"vectors": {"encoder": "none"}, "enrichment": {"generator": "none"}}
        report = build(load(folder, chosen, environment={}), workspace=workspace)
        with Ledger.open(workspace) as ledger:
            ledger.vectors.known((), "", 1)  # creates the table
        snapshot = _sections(report.snapshot / CATALOG_DB)
        of_ledger = _sections(workspace / LEDGER_FILE)
    return "\n\n".join([_HEAD.strip(), _SNAPSHOT, *snapshot, _LEDGER, *of_ledger]) + "\n"


def _sections(database: Path) -> Sequence[str]:
    """Return an overview of a database, then a section for each of its tables, views and macros."""
    with duckdb.connect(str(database), read_only=True) as connection:
        objects = connection.execute(_OBJECTS).fetchall()
        columns = {name: connection.execute(_COLUMNS, [name]).fetchall() for _, name, _ in objects}
    overview = table(
        ("name", "kind", "what it holds"),
        [
            (code(_with_length(name)), kind, _with_length(comment.partition(". ")[0].rstrip(".") + "."))
            for kind, name, comment in objects
        ],
    )
    return [overview, *(_section(kind, name, comment, columns[name]) for kind, name, comment in objects)]


def _section(kind: str, name: str, comment: str, columns: Sequence[tuple[str, str, str]]) -> str:
    heading = f"### `{_with_length(name)}`\n\nA {kind}. {_with_length(comment)}"
    if not columns:
        return heading
    rows = [(code(column), code(_LENGTH.sub("FLOAT[n]", type_)), text) for column, type_, text in columns]
    return f"{heading}\n\n{table(('column', 'type', 'meaning'), rows)}"


def _with_length(text: str) -> str:
    """Return a text in which the number of dimensions is `n`."""
    return _DIMENSIONS.sub(lambda match: f"{match[1]}n", text)
