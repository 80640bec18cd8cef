"""What a build holds, as Arrow tables: tools, parameters, expansions, phrases, vectors, and what was rejected."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.enrichment import ScreenedExpansion
from pipeline.enrichment.verdict import TextVerdict
from pipeline.errors import RecordRejected
from pipeline.records import Catalog
from pipeline.sources.coverage import Coverage, by_source
from pipeline.vectors import CatalogVectors
from router.fingerprint import canonical_json
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments


def tools(catalog: Catalog, documents: Sequence[FieldDocuments]) -> pa.Table:
    """One row a tool, in the order of ordinals, with the four texts that it is found by."""
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


def parameters(catalog: Catalog) -> pa.Table:
    """One row a parameter, in the order of each schema."""
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


def expansions(catalog: Catalog, written: Mapping[str, ScreenedExpansion]) -> pa.Table:
    """One row a tool that somebody wrote words for."""
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
            "translations": pa.array(
                [[(code, list(said)) for code, said in w.expansion.translations.items()] for _, w in rows],
                pa.map_(pa.string(), texts),
            ),
        }
    )


def phrases(documents: Sequence[FieldDocuments]) -> pa.Table:
    """One row a phrase: a tool's English ones in the order of their vectors, then its translations, without vectors."""
    rows = [
        (document.tool_id, position, phrase, language)
        for document in documents
        for position, (language, phrase) in enumerate(_by_language(document))
    ]
    return pa.table(
        {
            "tool_id": pa.array([row[0] for row in rows], pa.string()),
            "position": pa.array([row[1] for row in rows], pa.int32()),
            "phrase": pa.array([row[2] for row in rows], pa.string()),
            "language": pa.array([row[3] for row in rows], pa.string()),
        }
    )


def _by_language(document: FieldDocuments) -> Iterator[tuple[str, str]]:
    for language, phrases in {ENGLISH: document.phrases, **document.translations}.items():
        for phrase in phrases:
            yield language, phrase


def verdicts(found: Sequence[TextVerdict]) -> pa.Table:
    """One row a text that a check spoke of."""
    columns = {
        "tool_id": [v.tool_id for v in found],
        "field": [v.field for v in found],
        "text": [v.text for v in found],
        "check_name": [v.check for v in found],
        "consequence": [str(v.consequence) for v in found],
        "detail": [v.detail for v in found],
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def siblings(near: Mapping[str, Sequence[str]]) -> pa.Table:
    """One row a tool and another that its phrases fit as well, nearest first."""
    rows = [(tool_id, other, rank) for tool_id in sorted(near) for rank, other in enumerate(near[tool_id], 1)]
    return pa.table(
        {
            "tool_id": pa.array([row[0] for row in rows], pa.string()),
            "sibling_id": pa.array([row[1] for row in rows], pa.string()),
            "rank": pa.array([row[2] for row in rows], pa.int32()),
        }
    )


def rejections(rejected: Sequence[RecordRejected]) -> pa.Table:
    """One row a record, or a line of expansions, that could not be used."""
    return pa.table(
        {
            "file": pa.array([r.origin.file for r in rejected], pa.string()),
            "pointer": pa.array([r.origin.pointer for r in rejected], pa.string()),
            "reason": pa.array([r.reason for r in rejected], pa.string()),
        }
    )


def notices(catalog: Catalog) -> pa.Table:
    """One row a thing that an operator should know about a tool that was kept."""
    return pa.table(
        {
            "tool_id": pa.array([n.tool_id for n in catalog.notices], pa.string()),
            "kind": pa.array([n.kind for n in catalog.notices], pa.string()),
            "message": pa.array([n.message for n in catalog.notices], pa.string()),
            "file": pa.array([n.origin.file for n in catalog.notices], pa.string()),
            "pointer": pa.array([n.origin.pointer for n in catalog.notices], pa.string()),
        }
    )


def coverage(found: Sequence[Coverage]) -> pa.Table:
    """One row a source: what was read of it."""
    rows = by_source(found)
    counts = pa.map_(pa.string(), pa.int64())
    texts = pa.list_(pa.string())
    return pa.table(
        {
            "source": pa.array(list(rows), pa.string()),
            "records": pa.array([c.records for c in rows.values()], pa.int64()),
            "tools": pa.array([c.tools for c in rows.values()], pa.int64()),
            "described": pa.array([c.described for c in rows.values()], pa.int64()),
            "with_parameters": pa.array([c.with_parameters for c in rows.values()], pa.int64()),
            "lost_parameters": pa.array([c.lost_parameters for c in rows.values()], pa.int64()),
            "rejected": pa.array([c.rejected for c in rows.values()], pa.int64()),
            "reasons": pa.array([list(c.reasons.items()) for c in rows.values()], counts),
            "shapes": pa.array([list(c.shapes.items()) for c in rows.values()], counts),
            "problems": pa.array([list(c.problems) for c in rows.values()], texts),
        }
    )


def unread_keys(found: Sequence[Coverage]) -> pa.Table:
    """One row a key of a source that no reader knows."""
    rows = [(source, key) for source, one in by_source(found).items() for key in one.unread]
    return pa.table(
        {
            "source": pa.array([source for source, _ in rows], pa.string()),
            "key": pa.array([key.key for _, key in rows], pa.string()),
            "records": pa.array([key.records for _, key in rows], pa.int64()),
            "example": pa.array([key.example for _, key in rows], pa.string()),
        }
    )


def vectors(documents: Sequence[FieldDocuments], made: CatalogVectors | None) -> pa.Table:
    """One row a vector: the document's has position NULL, a phrase's the phrase's position. Without an encoder there is
    no row, and a vector's length is 1, for DuckDB has none of 0."""
    owners = [(d.tool_id, position) for d in documents for position in range(len(d.phrases))] if made else []
    matrix = np.concatenate([made.documents, made.phrases]) if made else np.empty((0, 1), np.float32)
    hashes = [*made.document_hashes, *made.phrase_hashes] if made else []
    ids = [d.tool_id for d in documents] if made else []
    return pa.table(
        {
            "tool_id": pa.array([*ids, *(tool_id for tool_id, _ in owners)], pa.string()),
            "position": pa.array([*(None for _ in ids), *(position for _, position in owners)], pa.int32()),
            "text_hash": pa.array(hashes, pa.string()),
            "model_key": pa.array([made.model.key if made else ""] * len(matrix), pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1]),
        }
    )
