"""Write `catalog.duckdb`: the build's data, what the ledger knows of it, and changes since the previous snapshot."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.enrichment import Enrichment, ScreenedExpansion
from pipeline.errors import RecordRejected
from pipeline.inspection import comparison_sql, tables
from pipeline.inspection.template import TEMPLATE, connect, statements
from pipeline.ledger import Ledger
from pipeline.records import Catalog
from pipeline.sources import Coverage
from pipeline.store.deltas.databases import database_file
from pipeline.vectors import CatalogVectors
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.tools.field_text import FieldDocuments
from router.tools.prerequisites.matching import Prerequisite

_WORDS = 13  # columns of `expansions` before its costs, which accounts.sql adds
# A snapshot that an older version wrote has no such table.
_HAS_METRICS = """
    SELECT 1 FROM duckdb_tables() WHERE database_name = 'previous_snapshot' AND table_name = 'judged_metrics'
"""
_EARLIER_METRICS = """
    CREATE TEMP TABLE all_metrics AS
    FROM judged_metrics
    UNION ALL BY NAME
    SELECT earlier.* FROM previous_snapshot.judged_metrics earlier ANTI JOIN judged_metrics own USING (snapshot);
    DELETE FROM judged_metrics;
    INSERT INTO judged_metrics BY NAME FROM all_metrics ORDER BY coalesce(sequence, 0), snapshot, metric;
    DROP TABLE all_metrics
"""


def write(
    path: Path,
    catalog: Catalog,
    rejected: Sequence[RecordRejected],
    enrichment: Enrichment,
    documents: Sequence[FieldDocuments],
    vectors: CatalogVectors | None,
    *,
    run: int,
    manifest: Manifest,
    stored: Sequence[Manifest],
    ledger: Ledger,
    previous: Path | None,
    coverage: Sequence[Coverage] = (),
    prerequisites: Sequence[Prerequisite] = (),
) -> None:
    """Write a new DuckDB file; rows are in the order of ordinals.

    `run` is the build that writes, `manifest` its snapshot's, complete but for this file. `stored` are the manifests of
    the other snapshots in the store, `previous` is the folder of the one that serves now, or None.
    """
    shutil.copyfile(TEMPLATE, path)
    with connect(path) as connection:
        connection.begin()  # dozens of statements, each of which would be written to disk by itself
        for name, rows in (
            ("snapshot", tables.snapshot(manifest, run)),
            ("tools", tables.tools(catalog, documents)),
            ("parameters", tables.parameters(catalog)),
            ("phrases", tables.phrases(documents)),
            ("verdicts", tables.verdicts(enrichment.verdicts)),
            ("siblings", tables.siblings(enrichment.siblings)),
            ("prerequisites", tables.prerequisites(prerequisites)),
            ("rejections", tables.rejections(rejected)),
            ("notices", tables.notices(catalog)),
            ("coverage", tables.coverage(coverage)),
            ("unread_keys", tables.unread_keys(coverage)),
            ("quarantine", tables.quarantine(manifest)),
            ("judged_metrics", tables.judged_metrics([*stored, manifest])),
        ):
            _insert(connection, name, rows)
        with _named(connection, tables.vectors(documents, vectors)):
            connection.execute("CREATE TABLE vectors AS FROM arrow_rows")
        connection.execute(statements("vectors.sql"))
        _write_accounts(connection, catalog, enrichment.written, manifest.catalog, ledger)
        connection.commit()
        _write_previous(connection, previous)  # attaches a database, which no transaction may
        # Closing the file checkpoints it too, but says nothing where the disk is full, and leaves a half file behind.
        connection.execute("CHECKPOINT")


def _write_accounts(
    connection: "duckdb.DuckDBPyConnection",
    catalog: Catalog,
    written: Mapping[str, ScreenedExpansion],
    name: str,
    ledger: Ledger,
) -> None:
    versions = ledger.history.versions(name, [record.tool_id for record in catalog.records])
    hashes = {*versions["record_hash"].to_pylist(), *catalog.hashes.values()}
    words = pa.schema([*_schema(connection, "expansions")][:_WORDS])
    arrow_tables = {
        "words": tables.batches(tables.expansions(catalog, written), words).read_all(),
        "ledger_versions": versions,
        "ledger_attempts": ledger.history.attempts(
            sorted(hashes), sorted(screened.key for screened in written.values())
        ),
        "ledger_runs": ledger.history.runs(name),
        "ledger_spending": ledger.history.spending(name),
    }
    for table, rows in arrow_tables.items():
        connection.register(table, rows)
    # The ledger has records as canonical JSON: equal values are equal texts.
    differing = comparison_sql.differing("json_extract(before, '$.{}')", "json_extract(record, '$.{}')")
    differing = f"CASE WHEN before IS NOT NULL THEN {differing} END"
    connection.execute(statements("accounts.sql").format(differing=differing))
    for table in arrow_tables:
        connection.unregister(table)


def _insert(connection: "duckdb.DuckDBPyConnection", table: str, rows: Iterable[tables.Row]) -> None:
    """Insert rows into a table of the template, which says of what types they are."""
    with _named(connection, tables.batches(rows, _schema(connection, table))):
        connection.execute(f"INSERT INTO {table} BY NAME FROM arrow_rows")


def _schema(connection: "duckdb.DuckDBPyConnection", table: str) -> pa.Schema:
    return connection.sql(f"FROM {table} LIMIT 0").to_arrow_table().schema


@contextmanager
def _named(connection: "duckdb.DuckDBPyConnection", rows: pa.RecordBatchReader) -> Iterator[None]:
    """Let SQL read rows as `arrow_rows` inside the block."""
    connection.register("arrow_rows", rows)
    yield
    connection.unregister("arrow_rows")


def _write_previous(connection: "duckdb.DuckDBPyConnection", previous: Path | None) -> None:
    """Fill `changes` and snapshot.previous, and add the metrics of snapshots that the store no longer has.

    All stays as it is where the previous snapshot cannot be opened.
    """
    if previous is None:
        return
    ((own,),) = connection.execute("SELECT current_database()").fetchall()
    try:
        connection.execute(comparison_sql.attach(database_file(previous), "previous_snapshot"))
    except (duckdb.Error, SnapshotInvalid):
        return
    try:
        connection.execute("INSERT INTO changes " + comparison_sql.changes("previous_snapshot", f'"{own}"'))
        connection.execute("UPDATE snapshot SET previous = ?", [previous.name])
        if connection.execute(_HAS_METRICS).fetchall():
            connection.execute(_EARLIER_METRICS)
    except duckdb.Error:
        pass
    finally:
        connection.execute("DETACH previous_snapshot")
