"""`catalog.duckdb`: what people look into. Tools, parameters, expansions, phrases, vectors, and what was rejected."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from pipeline.documents import FieldDocuments
from pipeline.enrichment import Written
from pipeline.errors import RecordRejected
from pipeline.ledger import CONNECTION
from pipeline.records import Catalog
from pipeline.vectors import Vectors
from router.fingerprint import canonical_json


def write(
    path: Path,
    catalog: Catalog,
    rejected: Sequence[RecordRejected],
    written: Mapping[str, Written],
    documents: Sequence[FieldDocuments],
    vectors: Vectors | None,
) -> None:
    """Write a new DuckDB file; rows are in the order of ordinals."""
    with duckdb.connect(str(path), config=CONNECTION) as connection:
        for name, table in (
            ("tools", _tools(catalog, documents)),
            ("parameters", _parameters(catalog)),
            ("expansions", _expansions(catalog, written)),
            ("phrases", _phrases(documents)),
            ("rejections", _rejections(rejected)),
            ("notices", _notices(catalog)),
        ):
            connection.register("arrow_rows", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_rows")
            connection.unregister("arrow_rows")
        if vectors is not None:
            _write_vectors(connection, documents, vectors)


def _tools(catalog: Catalog, documents: Sequence[FieldDocuments]) -> pa.Table:
    records = catalog.records
    columns: dict[str, Any] = {
        "ordinal": range(len(records)),
        "tool_id": [r.tool_id for r in records],
        "provider": pa.array([r.provider for r in records], pa.string()),
        "name": [r.name for r in records],
        "description": [r.description for r in records],
        "input_schema": [canonical_json(dict(r.input_schema)) for r in records],
        "examples": pa.array([list(r.examples) for r in records], pa.list_(pa.string())),
        "categories": pa.array([list(r.categories) for r in records], pa.list_(pa.string())),
        "tags": pa.array([list(r.tags) for r in records], pa.list_(pa.string())),
        "annotations": [canonical_json(dict(r.annotations)) for r in records],
        "deprecated": [r.deprecated for r in records],
        "origin_file": [r.origin.file for r in records],
        "origin_pointer": [r.origin.pointer for r in records],
        "record_hash": [catalog.hashes[r.tool_id] for r in records],
        "name_document": [d.name for d in documents],
        "description_document": [d.description for d in documents],
        "expansion_document": [d.expansion for d in documents],
        "dense_document": [d.dense for d in documents],
    }
    return pa.table(
        {key: pa.array(values) if not isinstance(values, pa.Array) else values for key, values in columns.items()}
    )


def _parameters(catalog: Catalog) -> pa.Table:
    rows = [(record.tool_id, p) for record in catalog.records for p in record.parameters]
    return pa.table(
        {
            "tool_id": pa.array([tool_id for tool_id, _ in rows], pa.string()),
            "path": pa.array([p.path for _, p in rows], pa.string()),
            "type": pa.array([p.type for _, p in rows], pa.string()),
            "description": pa.array([p.description for _, p in rows], pa.string()),
            "enum": pa.array([list(p.enum) for _, p in rows], pa.list_(pa.string())),
            "required": pa.array([p.required for _, p in rows], pa.bool_()),
        }
    )


def _expansions(catalog: Catalog, written: Mapping[str, Written]) -> pa.Table:
    rows = [(r.tool_id, written[r.tool_id]) for r in catalog.records if r.tool_id in written]
    texts = pa.list_(pa.string())
    return pa.table(
        {
            "tool_id": pa.array([tool_id for tool_id, _ in rows], pa.string()),
            "generator": pa.array([w.generator for _, w in rows], pa.string()),
            "model": pa.array([w.model for _, w in rows], pa.string()),
            "expansion_key": pa.array([w.key for _, w in rows], pa.string()),
            "when_to_use": pa.array([w.expansion.when_to_use for _, w in rows], pa.string()),
            "user_phrases": pa.array([list(w.expansion.user_phrases) for _, w in rows], texts),
            "synonyms": pa.array([list(w.expansion.synonyms) for _, w in rows], texts),
            "related_concepts": pa.array([list(w.expansion.related_concepts) for _, w in rows], texts),
            "task_categories": pa.array([list(w.expansion.task_categories) for _, w in rows], texts),
        }
    )


def _phrases(documents: Sequence[FieldDocuments]) -> pa.Table:
    rows = [(d.tool_id, position, phrase) for d in documents for position, phrase in enumerate(d.phrases)]
    return pa.table(
        {
            "tool_id": pa.array([row[0] for row in rows], pa.string()),
            "position": pa.array([row[1] for row in rows], pa.int32()),
            "phrase": pa.array([row[2] for row in rows], pa.string()),
        }
    )


def _rejections(rejected: Sequence[RecordRejected]) -> pa.Table:
    return pa.table(
        {
            "file": pa.array([r.origin.file for r in rejected], pa.string()),
            "pointer": pa.array([r.origin.pointer for r in rejected], pa.string()),
            "reason": pa.array([r.reason for r in rejected], pa.string()),
        }
    )


def _notices(catalog: Catalog) -> pa.Table:
    return pa.table(
        {
            "tool_id": pa.array([n.tool_id for n in catalog.notices], pa.string()),
            "kind": pa.array([n.kind for n in catalog.notices], pa.string()),
            "message": pa.array([n.message for n in catalog.notices], pa.string()),
            "file": pa.array([n.origin.file for n in catalog.notices], pa.string()),
            "pointer": pa.array([n.origin.pointer for n in catalog.notices], pa.string()),
        }
    )


def _write_vectors(
    connection: duckdb.DuckDBPyConnection, documents: Sequence[FieldDocuments], vectors: Vectors
) -> None:
    """One row a vector: the document's has position NULL, a phrase's the phrase's position."""
    dim = vectors.model.dim
    owners = [(d.tool_id, position) for d in documents for position in range(len(d.phrases))]
    matrix = np.concatenate([vectors.documents, vectors.phrases])
    table = pa.table(
        {
            "tool_id": pa.array([d.tool_id for d in documents] + [tool_id for tool_id, _ in owners], pa.string()),
            "position": pa.array([None] * len(documents) + [position for _, position in owners], pa.int32()),
            "text_hash": pa.array([*vectors.document_hashes, *vectors.phrase_hashes], pa.string()),
            "model_key": pa.array([vectors.model.key] * len(matrix), pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), dim),
        }
    )
    connection.register("arrow_rows", table)
    connection.execute(
        "CREATE TABLE vectors (tool_id VARCHAR, position INTEGER, text_hash VARCHAR, model_key VARCHAR, "
        f"vector FLOAT[{dim}])"
    )
    connection.execute("INSERT INTO vectors SELECT * FROM arrow_rows")
    connection.unregister("arrow_rows")
