"""A build's catalog without the tools that are held back alone: what serves stands in the place of a changed one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.enrichment import Enrichment, ScreenedExpansion
from pipeline.inspection.served_tools import ServedTexts, served_expansions
from pipeline.records import Catalog, record_hash, unread_notices
from router.expansion import Expansion
from router.record import ToolRecord
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import FieldDocuments, project_record


def served_as_before(
    serving: Path,
    texts: Mapping[str, ServedTexts],
    held: Collection[str],
    catalog: Catalog,
    enrichment: Enrichment,
    documents: Sequence[FieldDocuments],
    languages: Sequence[str],
) -> tuple[Catalog, Enrichment, list[FieldDocuments]]:
    """Return a catalog, its enrichment and documents without the new tools that are `held`.

    A changed one has the record, the expansion and the `texts` of the `serving` snapshot. Raises SnapshotInvalid where
    that cannot be read.
    """
    records = _served_records(serving, held)
    written = {
        tool_id: _screened(*expansion) for tool_id, expansion in served_expansions(serving, sorted(records)).items()
    }
    kept = {record.tool_id: record for record in catalog.records if record.tool_id not in held} | records
    projected = {document.tool_id: document for document in documents if document.tool_id not in held} | {
        tool_id: _document(record, texts[tool_id], written.get(tool_id), languages)
        for tool_id, record in records.items()
    }
    hashes = {tool_id: content for tool_id, content in catalog.hashes.items() if tool_id not in held}
    return (
        Catalog(
            tuple(kept[tool_id] for tool_id in sorted(kept)),
            hashes | {tool_id: record_hash(record) for tool_id, record in records.items()},
            (
                *(notice for notice in catalog.notices if notice.tool_id not in held),
                *unread_notices(records.values()),
            ),
        ),
        _enrichment(enrichment, held, written),
        [projected[tool_id] for tool_id in sorted(projected)],
    )


def _served_records(serving: Path, held: Collection[str]) -> dict[str, ToolRecord]:
    """Return the serving records of the tools that are held back, by id: those that only changed."""
    records = Snapshot.open(serving, check=False).records
    ordinals = {tool_id: records.ordinal(tool_id) for tool_id in held}
    return {tool_id: records.complete_record(ordinal) for tool_id, ordinal in ordinals.items() if ordinal is not None}


def _document(
    record: ToolRecord, served: ServedTexts, written: ScreenedExpansion | None, languages: Sequence[str]
) -> FieldDocuments:
    """Return the documents that serve. They are not the record's own where its remarks steered a model."""
    name, description, expansion, dense = served.texts
    document = project_record(record, written.expansion if written else None, languages)
    return replace(document, name=name, description=description, expansion=expansion, dense=dense)


def _screened(generator: str, model: str, key: str, expansion: Expansion) -> ScreenedExpansion:
    return ScreenedExpansion(expansion, generator, model, key, expansion)


def _enrichment(enrichment: Enrichment, held: Collection[str], written: dict[str, ScreenedExpansion]) -> Enrichment:
    """Return an enrichment without what was written for the tools that are held back, and with what serves."""
    return replace(
        enrichment,
        written={tool_id: one for tool_id, one in enrichment.written.items() if tool_id not in held} | written,
        siblings={
            tool_id: tuple(sibling for sibling in siblings if sibling not in held)
            for tool_id, siblings in enrichment.siblings.items()
            if tool_id not in held
        },
        suspicious=tuple(verdict for verdict in enrichment.suspicious if verdict.tool_id not in held),
        steering={tool_id: parts for tool_id, parts in enrichment.steering.items() if tool_id not in held},
        refused={tool_id: verdicts for tool_id, verdicts in enrichment.refused.items() if tool_id not in held},
        failures=[failure for failure in enrichment.failures if failure.tool_id not in held],
    )
