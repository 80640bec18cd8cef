"""Make a snapshot in memory of records, without a build.

Field documents, analyzers and indexes are those of a build with the lexicon's phrases, so that tools rank alike.
Vectors come from the request encoder, tokens are estimated, the calibration is generic, and nothing is learned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from router.contract import FORMAT_VERSION, Expanded, Manifest, Signal
from router.encoding.encoder import Encoder
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.provider_formats import Detail, ProviderFormat
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
from router.tools import field_text, lexicon
from router.tools.field_text import FieldDocuments
from router.tools.foreign_text import foreign_script
from router.tools.prerequisites.matching import find_prerequisites
from router.tools.text_overlap import (
    find_near_duplicates,
    identifying_terms,
    record_texts,
    shares_terms,
    term_set,
    uses_only_terms,
)
from router.tools.trust import sanitize
from router.tools.trust.steering_text import check_generated_phrase

CATALOG = "memory"
# The writers of phrases in the manifest: the calling program, or the lexicon.
_GIVEN, _LEXICON = "given", "lexicon"
_NAME_DIGITS = 8  # hexadecimal digits of the content hash in the snapshot's name


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool with its field documents; `generator` wrote its phrases, and `expanded` is their mark."""

    record: ToolRecord
    documents: FieldDocuments
    expanded: Expanded
    generator: str


def snapshot_from_records(
    records: Sequence[ToolRecord], phrases: Mapping[str, tuple[str, ...]], encoder: OpenedEncoder | None
) -> Snapshot:
    """Return the snapshot of some tools. Equal tools, phrases and encoders give snapshots of the same name.

    `phrases` by tool id replace the lexicon's. Without an encoder the snapshot has no vectors.
    """
    tools = [_tool(record, phrases.get(record.tool_id)) for record in sorted(records, key=lambda r: r.tool_id)]
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


def _tool(record: ToolRecord, phrases: tuple[str, ...] | None) -> _Tool:
    clean, untrusted = sanitize(record)
    if phrases is not None:
        projected = field_text.project_record(record, Expansion("", phrases) if phrases else None)
        return _Tool(record, projected, Expanded.YES if phrases or untrusted else Expanded.NO, _GIVEN)
    projected = field_text.project_record(record, screen_expansion(lexicon.expand(clean), clean, bool(untrusted)))
    # A tool whose text steers gets no assumed score for what was taken from it.
    return _Tool(record, projected, Expanded.YES if untrusted else Expanded.STOPGAP, _LEXICON)


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


def _manifest(
    tools: Sequence[_Tool],
    indexes: Mapping[Signal, FieldIndex],
    encoder: OpenedEncoder | None,
) -> Manifest:
    versions = {"format": FORMAT_VERSION, "text": TEXT_VERSION, "projection": field_text.PROJECTION_VERSION}
    generators = [tool.generator for tool in tools]
    content = fingerprint(
        {
            "versions": versions,
            "tools": [[tool.record.tool_id, tool.record.content(), tool.documents.phrases] for tool in tools],
            "lexicon": lexicon.lexicon_version(),
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
        generators={name: generators.count(name) for name in dict.fromkeys(generators)},
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
        files={},
        field_lengths={str(signal): round(field.mean_length, 3) for signal, field in indexes.items()},
    )


def screen_expansion(expansion: Expansion, record: ToolRecord, steers: bool) -> Expansion:
    """Return an expansion without texts that repeat others, speak to the model, or are one letter.

    Where the vendor's text `steers`, texts that are not grounded in the record are dropped too. `record` is what
    `sanitize` left of the vendor's.
    """
    record_terms = term_set(" ".join(record_texts(record))) if steers else None
    own = identifying_terms(record)

    def is_fit(text: str) -> bool:
        finding = _spoken(text)
        if finding and not (finding.check == "defamation" and uses_only_terms(text, own)):
            return False
        return (len(text) > 1 or not text.isascii()) and (record_terms is None or shares_terms(text, record_terms))

    def fit_texts(texts: Sequence[str]) -> tuple[str, ...]:
        fit = [text for text in texts if is_fit(text)]
        repeats = find_near_duplicates(fit)
        return tuple(text for place, text in enumerate(fit) if place not in repeats)

    return replace(
        expansion,
        when_to_use="".join(fit_texts([expansion.when_to_use])),
        user_phrases=fit_texts(expansion.user_phrases),
        synonyms=fit_texts(expansion.synonyms),
        related_concepts=fit_texts(expansion.related_concepts),
        task_categories=fit_texts(expansion.task_categories),
        requires=fit_texts(expansion.requires),
        provides=fit_texts(expansion.provides),
    )


_spoken = lru_cache(maxsize=16_384)(check_generated_phrase)  # tools of one verb or noun have the same synonyms
