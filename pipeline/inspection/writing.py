"""Write `catalog.duckdb`: the build's data, what the ledger knows of it, and changes since the previous snapshot."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.enrichment import Enrichment, ScreenedExpansion
from pipeline.errors import RecordRejected
from pipeline.inspection import comparison_sql, tables
from pipeline.ledger import CONNECTION, Ledger
from pipeline.records import Catalog
from pipeline.sources import Coverage
from pipeline.vectors import CatalogVectors
from router.contract import CATALOG_DB
from router.tools.field_text import FieldDocuments

# The oldest version that the extra `inspect` allows; by default DuckDB writes for its own version only.
_READABLE = {"storage_compatibility_version": "v1.3.0"}
# Vectors, most of the file, do not compress, and finding that out takes longer than writing them.
# See docs/decisions/0039-uncompressed-inspection.md.
_UNCOMPRESSED = "PRAGMA force_compression='uncompressed'"


def write(
    path: Path,
    catalog: Catalog,
    rejected: Sequence[RecordRejected],
    enrichment: Enrichment,
    documents: Sequence[FieldDocuments],
    vectors: CatalogVectors | None,
    *,
    identity: Mapping[str, Any],
    ledger: Ledger,
    previous: Path | None,
    coverage: Sequence[Coverage] = (),
) -> None:
    """Write a new DuckDB file; rows are in the order of ordinals.

    `identity` is the row of the `snapshot` table; `previous` the folder of the snapshot that serves now, or None.
    """
    with duckdb.connect(str(path), config={**CONNECTION, **_READABLE}) as connection:
        connection.execute(_UNCOMPRESSED)
        for name, table in (
            ("snapshot", _row(identity)),
            ("tools", tables.tools(catalog, documents)),
            ("parameters", tables.parameters(catalog)),
            ("phrases", tables.phrases(documents)),
            ("vectors", tables.vectors(documents, vectors)),
            ("verdicts", tables.verdicts(enrichment.verdicts)),
            ("siblings", tables.siblings(enrichment.siblings)),
            ("rejections", tables.rejections(rejected)),
            ("notices", tables.notices(catalog)),
            ("coverage", tables.coverage(coverage)),
            ("unread_keys", tables.unread_keys(coverage)),
        ):
            connection.register("arrow_rows", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_rows")
            connection.unregister("arrow_rows")
        _write_accounts(connection, catalog, enrichment.written, identity["catalog"], ledger)
        _write_changes(connection, previous)
        _execute(connection, "views.sql")


def _row(identity: Mapping[str, Any]) -> pa.Table:
    kinds = {"built_at": pa.timestamp("us"), "run_id": pa.int64(), "format": pa.int32()}
    columns = {name: pa.array([value], kinds.get(name, pa.string())) for name, value in identity.items()}
    return pa.table({**columns, "previous": pa.array([None], pa.string())})


def _write_accounts(
    connection: "duckdb.DuckDBPyConnection",
    catalog: Catalog,
    written: Mapping[str, ScreenedExpansion],
    name: str,
    ledger: Ledger,
) -> None:
    versions = ledger.versions(name, [record.tool_id for record in catalog.records])
    hashes = {*versions["record_hash"].to_pylist(), *catalog.hashes.values()}
    arrow_tables = {
        "words": tables.expansions(catalog, written),
        "ledger_versions": versions,
        "ledger_attempts": ledger.attempts(sorted(hashes)),
        "ledger_runs": ledger.runs(name),
    }
    for table, rows in arrow_tables.items():
        connection.register(table, rows)
    # The ledger has records as canonical JSON: equal values are equal texts.
    differing = comparison_sql.differing("json_extract(before, '$.{}')", "json_extract(record, '$.{}')")
    _execute(connection, "accounts.sql", differing=f"CASE WHEN before IS NOT NULL THEN {differing} END")
    for table in arrow_tables:
        connection.unregister(table)


def _write_changes(connection: "duckdb.DuckDBPyConnection", previous: Path | None) -> None:
    """Fill `changes` and snapshot.previous; leave both empty where the previous snapshot cannot be opened."""
    connection.execute("CREATE TABLE changes (tool_id VARCHAR, change VARCHAR, what VARCHAR[])")
    if previous is None:
        return
    ((own,),) = connection.execute("SELECT current_database()").fetchall()
    try:
        connection.execute(comparison_sql.attach(previous / CATALOG_DB, "previous_snapshot"))
    except duckdb.Error:
        return
    try:
        connection.execute("INSERT INTO changes " + comparison_sql.changes("previous_snapshot", f'"{own}"'))
        connection.execute("UPDATE snapshot SET previous = ?", [previous.name])
    except duckdb.Error:
        pass
    finally:
        connection.execute("DETACH previous_snapshot")


def _execute(connection: "duckdb.DuckDBPyConnection", file: str, **parts: str) -> None:
    text = resources.files("pipeline.inspection").joinpath(file).read_text(encoding="utf-8")
    connection.execute(text.format(**parts) if parts else text)
