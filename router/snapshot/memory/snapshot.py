"""Make a snapshot in memory of records, without a build.

Field documents, analyzers and indexes are those of a build without a model, so that tools rank alike.
Vectors come from the request encoder, tokens are estimated, the calibration is generic, and nothing is learned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from router.contract import FORMAT_VERSION, Expanded, Manifest, Signal
from router.encoding.encoder import Encoder
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.provider_formats.formats import Detail, ProviderFormat
from router.record import ToolRecord
from router.retrieval.deduplication import duplicate_groups
from router.retrieval.implicit_needs import ImplicitNeedTools
from router.retrieval.no_answer_calibration import generic_calibrations
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.retrieval.recipe import DEFAULT
from router.retrieval.retrievers import DenseRetriever, LexicalRetriever, Retriever, ToolVectors
from router.retrieval.retrievers.indexing import FieldIndex, index_fields
from router.snapshot.cached_encoder import encode_in_batches
from router.snapshot.loading import TokenCounts
from router.snapshot.memory.encoders import OpenedEncoder
from router.snapshot.record_store import RecordStore, ToolEntry
from router.snapshot.snapshot import Snapshot
from router.text import TEXT_VERSION
from router.tools import field_text
from router.tools.field_text import FieldDocuments
from router.tools.foreign_text import foreign_script
from router.tools.prerequisites.matching import find_prerequisites
from router.tools.trust.sanitization import sanitize

CATALOG = "memory"
_GIVEN = "given"  # who wrote the phrases, in the manifest: the calling program
_NAME_DIGITS = 8  # hexadecimal digits of the content hash in the snapshot's name


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool with its field documents, and whether it counts as expanded."""

    record: ToolRecord
    documents: FieldDocuments
    expanded: Expanded


def snapshot_from_records(
    records: Sequence[ToolRecord], phrases: Mapping[str, tuple[str, ...]], encoder: OpenedEncoder | None
) -> Snapshot:
    """Return the snapshot of some tools. Equal tools, phrases and encoders give snapshots of the same name.

    `phrases` are by tool id. Without an encoder the snapshot has no vectors.
    """
    tools = [_tool(record, phrases.get(record.tool_id, ())) for record in sorted(records, key=lambda r: r.tool_id)]
    fields = [tool.documents for tool in tools]
    indexes = index_fields(fields)
    retrievers: dict[Signal, Retriever] = {s: LexicalRetriever(field.index) for s, field in indexes.items()}
    if encoder:
        retrievers[Signal.DENSE] = DenseRetriever(_vectors(fields, encoder.encoder))
    ordered = [tool.record for tool in tools]
    groups = duplicate_groups(ordered)
    non_english = np.array([bool(foreign_script(record.description)) for record in ordered], bool)
    store = RecordStore.of(ToolEntry(tool.record, tool.documents.phrases) for tool in tools)
    return Snapshot(
        folder=None,
        manifest=_manifest(tools, indexes, encoder),
        recipe=DEFAULT,
        records=store,
        tokens=TokenCounts(store),
        retrievers=retrievers,
        encoder=encoder.encoder if encoder else None,
        expanded=_expanded(tools, indexes),
        non_english=non_english if non_english.any() else None,
        duplicates=None if (groups == np.arange(len(groups))).all() else groups,
        prerequisites=PrerequisiteGraph.of(ordered, find_prerequisites(ordered)),
        calibrations=generic_calibrations(retrievers, len(tools)),
        implicit_needs=ImplicitNeedTools.in_words([sanitize(record)[0] for record in ordered]),
    )


def _tool(record: ToolRecord, phrases: tuple[str, ...]) -> _Tool:
    projected = field_text.project_record(record, Expansion("", phrases) if phrases else None)
    # A tool whose text steers gets no assumed score for what was taken from it.
    is_expanded = phrases or sanitize(record)[1]
    return _Tool(record, projected, Expanded.YES if is_expanded else Expanded.NO)


def _vectors(fields: Sequence[FieldDocuments], encoder: Encoder) -> ToolVectors:
    texts = [text for document in fields for text in (document.dense, *document.phrases)]
    by_text = encode_in_batches(encoder, texts)
    phrases = [by_text[phrase] for document in fields for phrase in document.phrases]
    dense = np.stack([by_text[document.dense] for document in fields])
    offsets = np.cumsum([0, *(len(document.phrases) for document in fields)], dtype=np.int64)
    return ToolVectors.of(dense, np.stack(phrases) if phrases else dense[:0], offsets)


def _expanded(tools: Sequence[_Tool], indexes: Mapping[Signal, FieldIndex]) -> NDArray[np.uint8] | None:
    """Return the `Expanded` mark of each tool, uint8; None where no score is to be assumed for any, as in a build."""
    if Signal.EXPANSION not in indexes:
        return np.full(len(tools), Expanded.NO, np.uint8)
    marks = [tool.expanded for tool in tools]
    return np.array(marks, np.uint8) if Expanded.YES in marks and set(marks) != {Expanded.YES} else None


def _manifest(tools: Sequence[_Tool], indexes: Mapping[Signal, FieldIndex], encoder: OpenedEncoder | None) -> Manifest:
    versions = {"format": FORMAT_VERSION, "text": TEXT_VERSION, "projection": field_text.PROJECTION_VERSION}
    given = sum(bool(tool.documents.phrases) for tool in tools)
    content = fingerprint(
        {
            "versions": versions,
            "tools": [[tool.record.tool_id, tool.record.content(), tool.documents.phrases] for tool in tools],
            "encoder": asdict(encoder.spec) if encoder else None,
        }
    )
    return Manifest(
        snapshot=f"{CATALOG}-{content[:_NAME_DIGITS]}",
        catalog=CATALOG,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        content_hash=content,
        versions=versions,
        signals=(*indexes, Signal.DENSE) if encoder else tuple(indexes),
        encoder=encoder.spec if encoder else None,
        generators={_GIVEN: given} if given else {},
        recipe=DEFAULT.to_json(),
        counts={
            "tools": len(tools),
            "providers": len({tool.record.provider for tool in tools}),
            "phrases": sum(len(tool.documents.phrases) for tool in tools),
            "rejected": 0,
        },
        token_counter="estimate",  # noqa: S106 - no secret
        token_formats=tuple(map(str, ProviderFormat)),
        token_details=tuple(map(str, Detail)),
        tool_languages=field_text.tool_languages(tool.documents for tool in tools),
        files={},
        field_lengths={str(signal): round(field.mean_length, 3) for signal, field in indexes.items()},
    )
