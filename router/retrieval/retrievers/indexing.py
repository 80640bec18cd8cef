"""Builds a Tantivy index for each lexical signal: on disk for a build, in memory for `Router.from_tools`.

Index time and query time share the analyzers of `router.text`. All indexes are written here, so that a tool ranks the
same wherever its index lies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tantivy

from router.contract import LEXICAL_SIGNALS, ORDINAL_FIELD, Signal, text_field
from router.errors import SnapshotInvalid
from router.text import ENGLISH, analyzer, analyzer_name, pretokenize
from router.tools.field_text import FieldDocuments

# Enough for one segment of 100,000 tools; within one segment ties have one order.
_HEAP_BYTES = 128_000_000


@dataclass(frozen=True, slots=True)
class FieldIndex:
    """The index of one signal.

    `mean_length` is the mean number of terms of its English field. BM25 needs it for tools that are registered later.
    """

    index: tantivy.Index
    mean_length: float


def index_fields(
    documents: Sequence[FieldDocuments], folder: Path | None = None, languages: Sequence[str] = (ENGLISH,)
) -> dict[Signal, FieldIndex]:
    """Index each lexical signal that any tool has text for; a document's position is its tool's ordinal.

    The indexes are subfolders of `folder`, or in memory where that is None. The expansion's has a field for each of
    `languages`, which include English; the others are in English only. Raises SnapshotInvalid where an index does not
    hold every tool after its commit.
    """
    indexes = {}
    for signal in LEXICAL_SIGNALS:
        fields = languages if signal is Signal.EXPANSION else (ENGLISH,)
        if any(_text(document, signal, language) for document in documents for language in fields):
            rows = ({name: _text(document, signal, name) for name in fields} for document in documents)
            indexes[signal] = _index(rows, fields, len(documents), signal, folder)
    return indexes


def _text(document: FieldDocuments, signal: Signal, language: str) -> str:
    return document.text(signal) if language == ENGLISH else document.translation(language)


def _index(
    rows: Iterable[Mapping[str, str]], languages: Sequence[str], expected: int, signal: Signal, folder: Path | None
) -> FieldIndex:
    """Index `expected` rows, each the text of one tool by language."""
    builder = tantivy.SchemaBuilder()
    for language in languages:
        builder.add_text_field(
            text_field(language), stored=False, tokenizer_name=analyzer_name(language), index_option="freq"
        )
    builder.add_unsigned_field(ORDINAL_FIELD, stored=False, indexed=False, fast=True)
    schema = builder.build()
    index = _empty(schema, None if folder is None else folder / signal)
    for language in languages:
        index.register_tokenizer(analyzer_name(language), analyzer(language))
    # One thread and one commit: documents lie in the order of ordinals, so ties are cut in that order too.
    writer = index.writer(_HEAP_BYTES, num_threads=1)
    terms = 0
    for ordinal, texts in enumerate(rows):
        fields = {text_field(language): pretokenize(text) for language, text in texts.items()}
        writer.add_document(tantivy.Document.from_dict({**fields, ORDINAL_FIELD: ordinal}, schema))
        terms += len(analyzer().analyze(fields[text_field(ENGLISH)]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    # A document that Tantivy rejects drops its whole batch, and the next commit still reports success.
    count = index.searcher().num_docs
    if count != expected:
        raise SnapshotInvalid(f"the index {signal} holds {count} tools of {expected} after its commit")
    return FieldIndex(index, terms / expected)


def _empty(schema: tantivy.Schema, path: Path | None) -> tantivy.Index:
    if path is None:
        return tantivy.Index(schema)
    path.mkdir(parents=True)
    return tantivy.Index(schema, path=str(path))
