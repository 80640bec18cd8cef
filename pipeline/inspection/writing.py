"""Write `catalog.duckdb`: the build's data, what the ledger knows of it, and changes since the previous snapshot.

What columns there are, and of what type, stands in `tables.sql`.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import ScreenedExpansion
from pipeline.enrichment.context import PERSON
from pipeline.inspection import comparison_sql
from pipeline.inspection.template import TEMPLATE, connect, statements
from pipeline.scratch import chunked, release
from pipeline.sources.coverage import by_source
from pipeline.store.deltas.databases import database_file
from pipeline.vectors import CatalogVectors
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments
from router.tools.foreign_text import foreign_script

Row = dict[str, Any]  # keys that a table has no column for are left out
_JSON = msgspec.json.Encoder(order="sorted")  # equal values are equal texts
_UNDETERMINED = "und"  # ISO 639-2's code for it
_ROWS = 8_192  # in memory at once: vectors of 384 dimensions take 13 MB
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


def write(path: Path, context: BuildContext, state: BuildState, manifest: Manifest) -> None:
    """Write a new DuckDB file; rows are in the order of ordinals.

    `manifest` is that of the build's snapshot, complete but for this file.
    """
    shutil.copyfile(TEMPLATE, path)
    with connect(path) as connection:
        connection.begin()  # dozens of statements, each of which would be written to disk by itself
        for table, rows in _tables(context, state, manifest).items():
            _insert(connection, f"INSERT INTO {table} BY NAME", _batches(rows, _schema(connection, table)))
        _insert(connection, "CREATE TABLE vectors AS", _vectors(state.documents, state.vectors))
        connection.execute(statements("vectors.sql"))
        _write_accounts(connection, context, state)
        connection.commit()
        if (previous := context.serving) is not None:
            _write_previous(connection, previous)  # attaches a database, which no transaction may
        # Closing the file checkpoints it too, but says nothing where the disk is full, and leaves a half file behind.
        connection.execute("CHECKPOINT")


def _tables(context: BuildContext, state: BuildState, manifest: Manifest) -> dict[str, Iterable[Row]]:
    """Return the rows of each table, to be made while they are written: a large catalog's do not fit into memory."""
    records, coverage = state.catalog.records, by_source(state.reading.coverage).items()
    stored = [stored.manifest for stored in context.store.snapshots() if stored.manifest is not None]
    return {
        "snapshot": [_snapshot(manifest, context.run)],
        "tools": _tools(state),
        "parameters": ({"tool_id": r.tool_id, **msgspec.to_builtins(p)} for r in records for p in r.parameters),
        "phrases": chain.from_iterable(_phrases(one, state.enrichment.written) for one in state.documents),
        "verdicts": ({**msgspec.to_builtins(v), "check_name": v.check} for v in state.enrichment.verdicts),
        "siblings": (
            {"tool_id": tool_id, "sibling_id": other, "rank": rank}
            for tool_id, others in sorted(state.enrichment.siblings.items())
            for rank, other in enumerate(others, 1)
        ),
        "prerequisites": ({**msgspec.to_builtins(e), "resolver": e.needed} for e in state.prerequisites or ()),
        "rejections": (
            {**msgspec.to_builtins(one.origin), "reason": one.reason} for one in (*state.skipped, *state.rejected)
        ),
        "notices": ({**msgspec.to_builtins(n), **msgspec.to_builtins(n.origin)} for n in state.catalog.notices),
        "coverage": (
            {
                **(row := read.to_json()),
                "source": source,
                "reasons": list(row["reasons"].items()),
                "shapes": list(row["shapes"].items()),
            }
            for source, read in coverage
        ),
        "unread_keys": ({"source": source, **msgspec.to_builtins(k)} for source, read in coverage for k in read.unread),
        "quarantine": (
            {**one, "since": _utc(one["since"]), "examples": [example["request"] for example in one["examples"]]}
            for one in manifest.quarantined
        ),
        "judged_metrics": _judged_metrics([*stored, manifest]),
    }


def _snapshot(manifest: Manifest, run: int) -> Row:
    """Return the row of the table `snapshot`. Its `previous` is still NULL."""
    return {
        "snapshot": manifest.snapshot,
        "sequence": manifest.sequence,
        "catalog": manifest.catalog,
        "built_at": _utc(manifest.created_at),
        "run_id": run,
        "encoder": manifest.encoder.model if manifest.encoder else None,
        "recipe": manifest.recipe.get("name"),
        "format": manifest.versions["format"],
        "held": list(manifest.held),
    }


def _tools(state: BuildState) -> Iterator[Row]:
    """Yield one row per tool, in the order of ordinals, with the four texts that it is found by."""
    for ordinal, (record, document) in enumerate(zip(state.catalog.records, state.documents, strict=True)):
        row = record.to_json()
        yield {
            **row,
            **{name: _JSON.encode(row[name]).decode() for name in comparison_sql.JSON_COLUMNS if name in row},
            "ordinal": ordinal,
            "tags": record.tags,
            "kind": str(record.kind),
            "unread": record.tool_id in state.catalog.unread,
            "origin_file": record.origin.file,
            "origin_pointer": record.origin.pointer,
            "record_hash": state.catalog.hashes[record.tool_id],
            "name_document": document.name,
            "description_document": document.description,
            "expansion_document": document.expansion,
            "dense_document": document.dense,
        }


def _phrases(document: FieldDocuments, written: Mapping[str, ScreenedExpansion]) -> Iterator[Row]:
    """Yield one row per phrase: a tool's own in the order of their vectors, then its translations.

    Its own are English, but for what a model or a person wrote otherwise; a few words show less than all together.
    """
    all_foreign = bool(foreign_script("\n".join(document.phrases)))
    own = [(_UNDETERMINED if all_foreign or foreign_script(one) else ENGLISH, one) for one in document.phrases]
    translated = [(language, one) for language, phrases in document.translations.items() for one in phrases]
    for position, (language, phrase) in enumerate([*own, *translated]):
        by = written[document.tool_id]  # a tool without phrases has none
        row = {"tool_id": document.tool_id, "position": position, "phrase": phrase, "language": language}
        yield {**row, "source": PERSON if phrase in by.by_person else by.generator}


def _expansions(state: BuildState) -> Iterator[Row]:
    """Yield one row per tool that has an expansion, without its cost."""
    for record in state.catalog.records:
        if screened := state.enrichment.written.get(record.tool_id):
            yield {
                **msgspec.to_builtins(screened.expansion),
                "tool_id": record.tool_id,
                "generator": screened.generator,
                "model": screened.model,
                "expansion_key": screened.key,
                "stale": str(screened.stale) if screened.stale else None,
                "translations": list(screened.expansion.translations.items()),
            }


def _judged_metrics(manifests: Iterable[Manifest]) -> Iterator[Row]:
    """Yield one row per metric of each snapshot that was measured on judged requests, oldest first."""
    for manifest in sorted(manifests, key=lambda manifest: (manifest.sequence, manifest.snapshot)):
        evaluation = manifest.evaluation or {}
        for metric, value in sorted((evaluation.get("metrics") or {}).items()):
            low, high = evaluation.get("intervals", {}).get(metric) or (None, None)
            yield {
                "snapshot": manifest.snapshot,
                "sequence": manifest.sequence,
                "built_at": _utc(manifest.created_at),
                "held": bool(manifest.held),
                "recipe": evaluation.get("recipe"),
                "requests": evaluation.get("requests"),
                "metric": metric,
                "value": value,
                "low": low,
                "high": high,
            }


def _utc(moment: str) -> datetime:
    """Return a time in UTC, without a zone, as everywhere in the file."""
    return datetime.fromisoformat(moment).astimezone(UTC).replace(tzinfo=None)


def _vectors(documents: Sequence[FieldDocuments], embedded: CatalogVectors | None) -> pa.RecordBatchReader:
    """Return one row per vector; a document's has position NULL, a phrase's has the phrase's position.

    Rows are made while they are read. Without an encoder there is none, and vectors have length 1, because DuckDB does
    not allow 0.
    """
    dim = embedded.documents.shape[1] if embedded else 1
    texts = {name: pa.string() for name in ("text_hash", "model_key")}
    schema = pa.schema({"tool_id": pa.string(), "position": pa.int32(), **texts, "vector": pa.list_(pa.float32(), dim)})

    def parts(embedded: CatalogVectors) -> Iterator[pa.RecordBatch]:
        of_documents = ((document.tool_id, None) for document in documents)
        of_phrases = ((document.tool_id, place) for document in documents for place in range(len(document.phrases)))
        for owners, hashes, vectors in (
            (of_documents, embedded.document_hashes, embedded.documents),
            (of_phrases, embedded.phrase_hashes, embedded.phrases),
        ):
            for number, owned in enumerate(chunked(owners, _ROWS)):
                rows = slice(number * _ROWS, (number + 1) * _ROWS)
                values = pa.array(np.ascontiguousarray(vectors[rows]).reshape(-1))
                columns = [*zip(*owned, strict=True), hashes[rows], [embedded.export.key] * len(owned)]
                arrays = [pa.array(list(column), kind) for column, kind in zip(columns, schema.types[:-1], strict=True)]
                yield pa.record_batch([*arrays, pa.FixedSizeListArray.from_arrays(values, dim)], schema=schema)
            release(vectors)

    return pa.RecordBatchReader.from_batches(schema, parts(embedded) if embedded else ())


def _write_accounts(connection: "duckdb.DuckDBPyConnection", context: BuildContext, state: BuildState) -> None:
    """Fill the tables of what the ledger knows."""
    history, catalog, name = context.ledger.history, state.catalog, context.settings.name
    versions = history.versions(name, [record.tool_id for record in catalog.records])
    hashes = {*versions["record_hash"].to_pylist(), *catalog.hashes.values()}
    keys = sorted(screened.key for screened in state.enrichment.written.values())
    words = pa.schema([*_schema(connection, "expansions")][:_WORDS])
    arrow_tables = {
        "words": _batches(_expansions(state), words).read_all(),
        "ledger_versions": versions,
        "ledger_attempts": history.attempts(sorted(hashes), keys),
        "ledger_runs": history.runs(name),
        "ledger_spending": history.spending(name),
    }
    for table, rows in arrow_tables.items():
        connection.register(table, rows)
    # The ledger has records as canonical JSON: equal values are equal texts.
    differing = comparison_sql.differing("json_extract(before, '$.{}')", "json_extract(record, '$.{}')")
    differing = f"CASE WHEN before IS NOT NULL THEN {differing} END"
    connection.execute(statements("accounts.sql").format(differing=differing))
    for table in arrow_tables:
        connection.unregister(table)


def _batches(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatchReader:
    """Return rows that are made while they are read, part by part."""
    parts = (pa.RecordBatch.from_pylist(part, schema) for part in chunked(rows, _ROWS))
    return pa.RecordBatchReader.from_batches(schema, parts)


def _schema(connection: "duckdb.DuckDBPyConnection", table: str) -> pa.Schema:
    return connection.sql(f"FROM {table} LIMIT 0").to_arrow_table().schema


def _insert(connection: "duckdb.DuckDBPyConnection", into: str, rows: pa.RecordBatchReader) -> None:
    connection.register("arrow_rows", rows)
    connection.execute(f"{into} FROM arrow_rows")
    connection.unregister("arrow_rows")


def _write_previous(connection: "duckdb.DuckDBPyConnection", previous: Path) -> None:
    """Fill `changes` and snapshot.previous, and add the metrics of snapshots that the store no longer has.

    All stays as it is where the previous snapshot cannot be opened.
    """
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
