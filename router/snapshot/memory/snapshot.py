"""Records → a snapshot in memory: what a build makes of them without a model, and nothing on disk.

The field documents, the analyzers and the indexes are those of a build with the lexicon's phrases, so that the same
tools rank alike. Vectors come from the requests' own encoder, tokens are estimated, the calibration is generic, and
nothing is learned.
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
from router.provider_formats import Detail, Form
from router.record import ToolRecord
from router.retrieval.calibration import generic_calibrations
from router.retrieval.deduplication import duplicates
from router.retrieval.recipe import DEFAULT
from router.retrieval.retrievers import DenseRetriever, LexicalRetriever, ToolVectors
from router.retrieval.retrievers.indexing import FieldIndex, index_fields
from router.snapshot.cached_encoder import vectors_of
from router.snapshot.memory.encoders import OpenedEncoder
from router.snapshot.memory.screening import screened
from router.snapshot.record_store import Entry, RecordStore
from router.snapshot.snapshot import Snapshot
from router.snapshot.token_counts import TokenCounts
from router.text import TEXT_VERSION
from router.tools import field_text as documents
from router.tools import lexicon
from router.tools.field_text import FieldDocuments
from router.tools.trust import trusted

CATALOG = "memory"
# Who wrote a tool's phrases: the program that brings them, or the lexicon.
_GIVEN, _LEXICON = "given", "lexicon"
_SHOWN = 8  # hexadecimal digits of the content hash in the snapshot's name


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool with its field documents; `expanded` and `generator` say where its phrases come from."""

    record: ToolRecord
    documents: FieldDocuments
    expanded: Expanded
    generator: str


def snapshot_of(
    records: Sequence[ToolRecord], phrases: Mapping[str, tuple[str, ...]], encoder: OpenedEncoder | None
) -> Snapshot:
    """Return the snapshot of some tools. `phrases` by id stand in the place of the lexicon's; without an encoder it has
    no vectors. Equal tools, phrases and encoders give snapshots of one name."""
    tools = [_tool(record, phrases.get(record.tool_id)) for record in sorted(records, key=lambda r: r.tool_id)]
    fields = [tool.documents for tool in tools]
    indexes = index_fields(fields)
    vectors = _vectors(fields, encoder.encoder) if encoder else None
    ordered = [tool.record for tool in tools]
    groups = duplicates(ordered)
    store = RecordStore.of(Entry(tool.record, tool.documents.phrases) for tool in tools)
    return Snapshot(
        folder=None,
        manifest=_manifest(tools, indexes, encoder),
        recipe=DEFAULT,
        records=store,
        tokens=TokenCounts(store),
        lexical={signal: LexicalRetriever(field.index) for signal, field in indexes.items()},
        dense=DenseRetriever(vectors) if vectors else None,
        encoder=encoder.encoder if encoder else None,
        expanded=_expanded(tools, indexes),
        duplicates=None if (groups == np.arange(len(groups))).all() else groups,
        calibrations=generic_calibrations((*indexes, *([Signal.DENSE] if encoder else [])), len(tools)),
    )


def _tool(record: ToolRecord, phrases: tuple[str, ...] | None) -> _Tool:
    clean, left_out = trusted(record)
    if phrases is not None:
        made = documents.project(record, Expansion("", phrases) if phrases else None)
        return _Tool(record, made, Expanded.YES if phrases or left_out else Expanded.NO, _GIVEN)
    made = documents.project(record, screened(lexicon.expand(clean), clean, bool(left_out)))
    # Nothing is made up for a tool that steers: it is left with what it has.
    return _Tool(record, made, Expanded.YES if left_out else Expanded.STOPGAP, _LEXICON)


def _vectors(fields: Sequence[FieldDocuments], encoder: Encoder) -> ToolVectors:
    texts = [text for document in fields for text in (document.dense, *document.phrases)]
    made = vectors_of(encoder, texts)
    phrases = [made[phrase] for document in fields for phrase in document.phrases]
    found = np.stack([made[document.dense] for document in fields])
    offsets = np.cumsum([0, *(len(document.phrases) for document in fields)], dtype=np.int64)
    return ToolVectors.of(found, np.stack(phrases) if phrases else found[:0], offsets)


def _expanded(tools: Sequence[_Tool], indexes: Mapping[Signal, FieldIndex]) -> NDArray[np.uint8] | None:
    """Return `Expanded` by ordinal; None where nothing is to be made up for, as in a build."""
    if Signal.EXPANSION not in indexes:
        return np.full(len(tools), Expanded.NO, np.uint8)
    marks = [tool.expanded for tool in tools]
    return np.array(marks, np.uint8) if Expanded.YES in marks and set(marks) != {Expanded.YES} else None


def _manifest(
    tools: Sequence[_Tool],
    indexes: Mapping[Signal, FieldIndex],
    encoder: OpenedEncoder | None,
) -> Manifest:
    versions = {"format": FORMAT_VERSION, "text": TEXT_VERSION, "projection": documents.PROJECTION_VERSION}
    written = [tool.generator for tool in tools]
    content = fingerprint(
        {
            "versions": versions,
            "tools": [[tool.record.tool_id, tool.record.content(), tool.documents.phrases] for tool in tools],
            "lexicon": lexicon.lexicon_version(),
            "encoder": asdict(encoder.spec) if encoder else None,
        }
    )
    return Manifest(
        snapshot=f"{CATALOG}-{content[:_SHOWN]}",
        catalog=CATALOG,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        content_hash=content,
        versions=versions,
        signals=(*indexes, Signal.DENSE) if encoder else tuple(indexes),
        encoder=encoder.spec if encoder else None,
        generators={name: written.count(name) for name in dict.fromkeys(written)},
        recipe=DEFAULT.to_json(),
        counts={
            "tools": len(tools),
            "providers": len({tool.record.provider for tool in tools}),
            "phrases": sum(len(tool.documents.phrases) for tool in tools),
            "rejected": 0,
        },
        token_counter="estimate",  # noqa: S106 - no secret
        token_formats=tuple(map(str, Form)),
        token_details=tuple(map(str, Detail)),
        files={},
        field_lengths={str(signal): round(field.mean_length, 3) for signal, field in indexes.items()},
    )
