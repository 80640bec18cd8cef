"""The rows of a snapshot's tables, by column. What columns there are, and of what type, stands in `tables.sql`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.enrichment import ScreenedExpansion
from pipeline.enrichment.context import TextVerdict
from pipeline.errors import RecordRejected
from pipeline.records import Catalog
from pipeline.scratch import chunked, release
from pipeline.sources.coverage import Coverage, by_source
from pipeline.vectors import CatalogVectors
from router.contract import Manifest
from router.fingerprint import canonical_json
from router.record import ToolRecord
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments
from router.tools.prerequisites.matching import Prerequisite

Row = dict[str, Any]
_ROWS = 8_192  # in memory at once: vectors of 384 dimensions take 13 MB
_LISTS = ("examples", "categories", "tags")
_OPTIONAL = ("outputs", "links", "operation")
_WORDS = ("user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides")


def batches(rows: Iterable[Row], schema: pa.Schema) -> pa.RecordBatchReader:
    """Return rows that are made while they are read, part by part: a large catalog's do not fit into memory."""
    parts = (pa.RecordBatch.from_pylist(part, schema) for part in chunked(rows, _ROWS))
    return pa.RecordBatchReader.from_batches(schema, parts)


def tools(catalog: Catalog, documents: Iterable[FieldDocuments]) -> Iterator[Row]:
    """Yield one row per tool, in the order of ordinals, with the four texts that it is found by."""
    for ordinal, (record, document) in enumerate(zip(catalog.records, documents, strict=True)):
        yield {
            "ordinal": ordinal,
            **_fields(record, "tool_id", "provider", "name", "description", "deprecated"),
            "input_schema": canonical_json(dict(record.input_schema)),
            **{name: list(getattr(record, name)) for name in _LISTS},
            "annotations": canonical_json(dict(record.annotations)),
            **{name: _optional_json(record, name) for name in _OPTIONAL},
            "kind": str(record.kind),
            "instructions": record.instructions or None,
            "unread": record.tool_id in catalog.unread,
            "origin_file": record.origin.file,
            "origin_pointer": record.origin.pointer,
            "record_hash": catalog.hashes[record.tool_id],
            "name_document": document.name,
            "description_document": document.description,
            "expansion_document": document.expansion,
            "dense_document": document.dense,
        }


def _optional_json(record: ToolRecord, field: str) -> str | None:
    """Return what `to_json` leaves out where it is empty as text, or None."""
    return canonical_json(record.to_json()[field]) if getattr(record, field) else None


def parameters(catalog: Catalog) -> Iterator[Row]:
    """Yield one row per parameter, in the order of each schema."""
    for record in catalog.records:
        for p in record.parameters:
            own = _fields(p, "path", "type", "description", "required")
            yield {"tool_id": record.tool_id, **own, "enum": list(p.enum)}


def expansions(catalog: Catalog, written: Mapping[str, ScreenedExpansion]) -> Iterator[Row]:
    """Yield one row per tool that has an expansion."""
    for record in catalog.records:
        if screened := written.get(record.tool_id):
            expansion = screened.expansion
            yield {
                "tool_id": record.tool_id,
                "generator": screened.generator,
                "model": screened.model,
                "expansion_key": screened.key,
                "stale": str(screened.stale) if screened.stale else None,
                "when_to_use": expansion.when_to_use,
                **{name: list(getattr(expansion, name)) for name in _WORDS},
                "translations": [(code, list(phrases)) for code, phrases in expansion.translations.items()],
            }


def phrases(documents: Iterable[FieldDocuments]) -> Iterator[Row]:
    """Yield one row per phrase: a tool's English ones in the order of their vectors, then its translations."""
    for document in documents:
        by_language = {ENGLISH: document.phrases, **document.translations}.items()
        texts = ((language, phrase) for language, phrases in by_language for phrase in phrases)
        for position, (language, phrase) in enumerate(texts):
            yield {"tool_id": document.tool_id, "position": position, "phrase": phrase, "language": language}


def verdicts(rows: Iterable[TextVerdict]) -> Iterator[Row]:
    """Yield one row per verdict of a check on a text."""
    for verdict in rows:
        yield {
            **_fields(verdict, "tool_id", "field", "text", "detail"),
            "check_name": verdict.check,
            "consequence": str(verdict.consequence),
        }


def siblings(by_tool: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """Yield one row per pair of a tool and another that its phrases fit as well, nearest first."""
    for tool_id in sorted(by_tool):
        for rank, other in enumerate(by_tool[tool_id], 1):
            yield {"tool_id": tool_id, "sibling_id": other, "rank": rank}


def prerequisites(edges: Iterable[Prerequisite]) -> Iterator[Row]:
    """Yield one row per edge: a tool, what it needs, and a tool that resolves it; the surest resolver first."""
    for edge in edges:
        yield {
            **_fields(edge, "tool_id", "parameter", "noun", "confidence", "because", "of_own"),
            "resolver": edge.needed,
            "kind": str(edge.kind),
            "evidence": str(edge.evidence),
        }


def rejections(rejected: Iterable[RecordRejected]) -> Iterator[Row]:
    """Yield one row per record, or line of expansions, that could not be used."""
    for one in rejected:
        yield {"file": one.origin.file, "pointer": one.origin.pointer, "reason": one.reason}


def notices(catalog: Catalog) -> Iterator[Row]:
    """Yield one row per notice about a tool that was kept."""
    for notice in catalog.notices:
        place = {"file": notice.origin.file, "pointer": notice.origin.pointer}
        yield {**_fields(notice, "tool_id", "kind", "message"), **place}


def coverage(coverages: Sequence[Coverage]) -> Iterator[Row]:
    """Yield one row per source: how much of it was read."""
    counts = ("records", "tools", "described", "with_parameters", "lost_parameters", "rejected")
    for source, one in by_source(coverages).items():
        yield {
            "source": source,
            **_fields(one, *counts),
            "reasons": list(one.reasons.items()),
            "shapes": list(one.shapes.items()),
            "problems": list(one.problems),
        }


def unread_keys(coverages: Sequence[Coverage]) -> Iterator[Row]:
    """Yield one row per key of a source that no reader knows."""
    for source, one in by_source(coverages).items():
        for key in one.unread:
            yield {"source": source, **_fields(key, "key", "records", "example")}


def snapshot(manifest: Manifest, run: int) -> Iterator[Row]:
    """Yield the row of the table `snapshot`. Its `previous` is still NULL."""
    yield {
        **_fields(manifest, "snapshot", "sequence", "catalog"),
        "built_at": _utc(manifest.created_at),
        "run_id": run,
        "encoder": manifest.encoder.model if manifest.encoder else None,
        "recipe": manifest.recipe.get("name"),
        "format": manifest.versions["format"],
        "held": list(manifest.held),
    }


def quarantine(manifest: Manifest) -> Iterator[Row]:
    """Yield one row per tool that the build held back alone."""
    for row in manifest.quarantined:
        requests = [example["request"] for example in row["examples"]]
        yield {**row, "since": _utc(row["since"]), "examples": requests}


def judged_metrics(manifests: Iterable[Manifest]) -> Iterator[Row]:
    """Yield one row per metric of each snapshot that was measured on judged requests, oldest first."""
    for manifest in sorted(manifests, key=lambda manifest: (manifest.sequence, manifest.snapshot)):
        evaluation = manifest.evaluation or {}
        for metric, value in sorted((evaluation.get("metrics") or {}).items()):
            low, high = evaluation.get("intervals", {}).get(metric) or (None, None)
            yield {
                **_fields(manifest, "snapshot", "sequence"),
                "built_at": _utc(manifest.created_at),
                "held": bool(manifest.held),
                "recipe": evaluation.get("recipe"),
                "requests": evaluation.get("requests"),
                "metric": metric,
                "value": value,
                "low": low,
                "high": high,
            }


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
    parts = _vector_batches(documents, embedded, schema) if embedded else ()
    return pa.RecordBatchReader.from_batches(schema, parts)


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


def _fields(value: object, *names: str) -> Row:
    return {name: getattr(value, name) for name in names}


def _utc(moment: str) -> datetime:
    """Return a time in UTC, without a zone, as everywhere in the file."""
    return datetime.fromisoformat(moment).astimezone(UTC).replace(tzinfo=None)
