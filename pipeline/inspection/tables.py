"""Build Arrow tables of a build's tools: parameters, expansions, phrases, vectors, verdicts, edges between tools."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.enrichment import ScreenedExpansion
from pipeline.enrichment.verdict import TextVerdict
from pipeline.records import Catalog
from pipeline.scratch import SHARD_SIZE, release
from pipeline.vectors import CatalogVectors
from router.fingerprint import canonical_json
from router.record import ToolRecord
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments
from router.tools.prerequisites.matching import Prerequisite

_ROWS = 8_192  # vectors in memory at once: 13 MB of 384 dimensions
_TEXTS = pa.list_(pa.string())
_TOOLS = {
    "ordinal": pa.int64(),
    **dict.fromkeys(("tool_id", "provider", "name", "description", "input_schema"), pa.string()),
    **dict.fromkeys(("examples", "categories", "tags"), _TEXTS),
    "annotations": pa.string(),
    "deprecated": pa.bool_(),
    **dict.fromkeys(("outputs", "links", "operation", "kind", "instructions"), pa.string()),
    "unread": pa.bool_(),
    **dict.fromkeys(("origin_file", "origin_pointer", "record_hash"), pa.string()),
    **dict.fromkeys(("name_document", "description_document", "expansion_document", "dense_document"), pa.string()),
}
_PARAMETERS = {
    **dict.fromkeys(("tool_id", "path", "type", "description"), pa.string()),
    "enum": _TEXTS,
    "required": pa.bool_(),
}
_PHRASES = {"tool_id": pa.string(), "position": pa.int32(), "phrase": pa.string(), "language": pa.string()}


def tools(catalog: Catalog, documents: Sequence[FieldDocuments]) -> pa.RecordBatchReader:
    """Return one row per tool, in the order of ordinals, with the four texts that it is found by."""
    return _reader(_TOOLS, (_tools(*part, catalog) for part in _parts(catalog, documents)))


def _tools(
    first: int, records: Sequence[ToolRecord], documents: Sequence[FieldDocuments], catalog: Catalog
) -> dict[str, Iterable[Any]]:
    unread = catalog.unread
    return {
        "ordinal": range(first, first + len(records)),
        "tool_id": [r.tool_id for r in records],
        "provider": [r.provider for r in records],
        "name": [r.name for r in records],
        "description": [r.description for r in records],
        "input_schema": [canonical_json(dict(r.input_schema)) for r in records],
        "examples": [list(r.examples) for r in records],
        "categories": [list(r.categories) for r in records],
        "tags": [list(r.tags) for r in records],
        "annotations": [canonical_json(dict(r.annotations)) for r in records],
        "deprecated": [r.deprecated for r in records],
        **{name: [_optional_json(r, name) for r in records] for name in ("outputs", "links", "operation")},
        "kind": [str(r.kind) for r in records],
        "instructions": [r.instructions or None for r in records],
        "unread": [r.tool_id in unread for r in records],
        "origin_file": [r.origin.file for r in records],
        "origin_pointer": [r.origin.pointer for r in records],
        "record_hash": [catalog.hashes[r.tool_id] for r in records],
        "name_document": [d.name for d in documents],
        "description_document": [d.description for d in documents],
        "expansion_document": [d.expansion for d in documents],
        "dense_document": [d.dense for d in documents],
    }


def _optional_json(record: ToolRecord, field: str) -> str | None:
    """Return what `to_json` leaves out where it is empty as text, or None."""
    return canonical_json(record.to_json()[field]) if getattr(record, field) else None


def parameters(catalog: Catalog) -> pa.RecordBatchReader:
    """Return one row per parameter, in the order of each schema."""
    return _reader(_PARAMETERS, (_parameters(records) for _, records, _ in _parts(catalog, ())))


def _parameters(records: Sequence[ToolRecord]) -> dict[str, Iterable[Any]]:
    rows = [(record.tool_id, p) for record in records for p in record.parameters]
    return {
        "tool_id": [tool_id for tool_id, _ in rows],
        "path": [p.path for _, p in rows],
        "type": [p.type for _, p in rows],
        "description": [p.description for _, p in rows],
        "enum": [list(p.enum) for _, p in rows],
        "required": [p.required for _, p in rows],
    }


def _parts(
    catalog: Catalog, documents: Sequence[FieldDocuments]
) -> Iterator[tuple[int, Sequence[ToolRecord], Sequence[FieldDocuments]]]:
    """Yield the tools of a catalog, some thousands at a time, with the ordinal of the first."""
    for first in range(0, len(catalog.records), SHARD_SIZE):
        rows = slice(first, first + SHARD_SIZE)
        yield first, catalog.records[rows], documents[rows]


def _reader(columns: Mapping[str, pa.DataType], parts: Iterable[Mapping[str, Iterable[Any]]]) -> pa.RecordBatchReader:
    """Return rows that are made while they are read, part by part: a large catalog's do not fit into memory."""
    schema = pa.schema(columns)
    batches = (
        pa.record_batch([pa.array(part[name], kind) for name, kind in columns.items()], schema=schema) for part in parts
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def expansions(catalog: Catalog, written: Mapping[str, ScreenedExpansion]) -> pa.Table:
    """Return one row per tool that has an expansion."""
    rows = [(r.tool_id, written[r.tool_id]) for r in catalog.records if r.tool_id in written]
    texts = pa.list_(pa.string())
    return pa.table(
        {
            "tool_id": pa.array([tool_id for tool_id, _ in rows], pa.string()),
            "generator": pa.array([w.generator for _, w in rows], pa.string()),
            "model": pa.array([w.model for _, w in rows], pa.string()),
            "expansion_key": pa.array([w.key for _, w in rows], pa.string()),
            "stale": pa.array([str(w.stale) if w.stale else None for _, w in rows], pa.string()),
            "when_to_use": pa.array([w.expansion.when_to_use for _, w in rows], pa.string()),
            "user_phrases": pa.array([list(w.expansion.user_phrases) for _, w in rows], texts),
            "synonyms": pa.array([list(w.expansion.synonyms) for _, w in rows], texts),
            "related_concepts": pa.array([list(w.expansion.related_concepts) for _, w in rows], texts),
            "task_categories": pa.array([list(w.expansion.task_categories) for _, w in rows], texts),
            "requires": pa.array([list(w.expansion.requires) for _, w in rows], texts),
            "provides": pa.array([list(w.expansion.provides) for _, w in rows], texts),
            "translations": pa.array(
                [[(code, list(phrases)) for code, phrases in w.expansion.translations.items()] for _, w in rows],
                pa.map_(pa.string(), texts),
            ),
        }
    )


def phrases(documents: Sequence[FieldDocuments]) -> pa.RecordBatchReader:
    """Return one row per phrase: a tool's English ones in the order of their vectors, then its translations."""
    parts = (documents[first : first + SHARD_SIZE] for first in range(0, len(documents), SHARD_SIZE))
    return _reader(_PHRASES, map(_phrases, parts))


def _phrases(documents: Sequence[FieldDocuments]) -> dict[str, Iterable[Any]]:
    rows = [
        (document.tool_id, position, phrase, language)
        for document in documents
        for position, (language, phrase) in enumerate(_by_language(document))
    ]
    return {name: [row[column] for row in rows] for column, name in enumerate(_PHRASES)}


def _by_language(document: FieldDocuments) -> Iterator[tuple[str, str]]:
    for language, phrases in {ENGLISH: document.phrases, **document.translations}.items():
        for phrase in phrases:
            yield language, phrase


def verdicts(rows: Sequence[TextVerdict]) -> pa.Table:
    """Return one row per verdict of a check on a text."""
    columns = {
        "tool_id": [v.tool_id for v in rows],
        "field": [v.field for v in rows],
        "text": [v.text for v in rows],
        "check_name": [v.check for v in rows],
        "consequence": [str(v.consequence) for v in rows],
        "detail": [v.detail for v in rows],
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def siblings(by_tool: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return one row per pair of a tool and another that its phrases fit as well, nearest first."""
    rows = [(tool_id, other, rank) for tool_id in sorted(by_tool) for rank, other in enumerate(by_tool[tool_id], 1)]
    return pa.table(
        {
            "tool_id": pa.array([row[0] for row in rows], pa.string()),
            "sibling_id": pa.array([row[1] for row in rows], pa.string()),
            "rank": pa.array([row[2] for row in rows], pa.int32()),
        }
    )


def prerequisites(edges: Sequence[Prerequisite]) -> pa.Table:
    """Return one row per edge: a tool, what it needs, and a tool that resolves it; the surest resolver first."""
    columns = {
        "tool_id": [edge.tool_id for edge in edges],
        "parameter": [edge.parameter for edge in edges],
        "kind": [str(edge.kind) for edge in edges],
        "noun": [edge.noun for edge in edges],
        "resolver": [edge.needed for edge in edges],
        "confidence": [edge.confidence for edge in edges],
        "evidence": [str(edge.evidence) for edge in edges],
        "because": [edge.because for edge in edges],
        "of_own": [edge.of_own for edge in edges],
    }
    kinds = {"confidence": pa.float64(), "of_own": pa.bool_()}
    return pa.table({name: pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()})


def vectors(documents: Sequence[FieldDocuments], embedded: CatalogVectors | None) -> pa.RecordBatchReader:
    """Return one row per vector; a document's has position NULL, a phrase's has the phrase's position.

    Rows are made while they are read, some thousands at a time. Without an encoder there is no row, and vectors have
    length 1, because DuckDB does not allow 0.
    """
    dim = embedded.documents.shape[1] if embedded else 1
    schema = pa.schema(
        {
            "tool_id": pa.string(),
            "position": pa.int32(),
            "text_hash": pa.string(),
            "model_key": pa.string(),
            "vector": pa.list_(pa.float32(), dim),
        }
    )
    batches = _vector_batches(documents, embedded, schema) if embedded else ()
    return pa.RecordBatchReader.from_batches(schema, batches)


def _vector_batches(
    documents: Sequence[FieldDocuments], embedded: CatalogVectors, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    of_phrases = ((d.tool_id, position) for d in documents for position in range(len(d.phrases)))
    of_documents = ((d.tool_id, None) for d in documents)
    parts = (
        (of_documents, embedded.document_hashes, embedded.documents),
        (of_phrases, embedded.phrase_hashes, embedded.phrases),
    )
    for owners, hashes, vectors in parts:
        for first in range(0, len(vectors), _ROWS):
            rows = slice(first, first + _ROWS)
            owned = list(islice(owners, _ROWS))
            block = np.ascontiguousarray(vectors[rows])
            columns = (
                pa.array([tool_id for tool_id, _ in owned], pa.string()),
                pa.array([position for _, position in owned], pa.int32()),
                pa.array(list(hashes[rows]), pa.string()),
                pa.array([embedded.model.key] * len(owned), pa.string()),
                pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), block.shape[1]),
            )
            yield pa.record_batch(list(columns), schema=schema)
        release(vectors)
