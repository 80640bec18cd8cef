"""Field documents → three Tantivy indexes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import tantivy

from pipeline.errors import RunAborted
from router.contract import LEXICAL_SIGNALS, ORDINAL_FIELD, Signal, text_field
from router.documents import FieldDocuments
from router.text import ENGLISH, analyzer, analyzer_name, split

__all__ = ["index"]

_HEAP_BYTES = 128_000_000  # one segment for up to 100,000 tools, and one segment means one order of ties


def index(
    documents: Sequence[FieldDocuments], folder: Path, languages: Sequence[str] = (ENGLISH,)
) -> dict[Signal, float]:
    """Write an index for each lexical signal that any tool has text for; the position of a document is its ordinal.

    The expansion's has a field for each of `languages`, English among them, the others have English alone. Returns the
    signals written, each with the mean number of terms of its English field, which BM25 needs of a tool that comes
    later. Raises RunAborted where an index does not hold every tool after its commit.
    """
    written = {}
    for signal in LEXICAL_SIGNALS:
        fields = languages if signal is Signal.EXPANSION else (ENGLISH,)
        if any(_text(document, signal, language) for document in documents for language in fields):
            rows = ({name: _text(document, signal, name) for name in fields} for document in documents)
            written[signal] = _write(rows, fields, len(documents), folder / signal) / len(documents)
    return written


def _text(document: FieldDocuments, signal: Signal, language: str) -> str:
    return document.text(signal) if language == ENGLISH else document.translation(language)


def _write(rows: Iterable[Mapping[str, str]], languages: Sequence[str], expected: int, folder: Path) -> int:
    """Each row is the text of a tool by language. Returns the number of English terms."""
    builder = tantivy.SchemaBuilder()
    for language in languages:
        builder.add_text_field(
            text_field(language), stored=False, tokenizer_name=analyzer_name(language), index_option="freq"
        )
    builder.add_unsigned_field(ORDINAL_FIELD, stored=False, indexed=False, fast=True)
    schema = builder.build()
    folder.mkdir(parents=True)
    tantivy_index = tantivy.Index(schema, path=str(folder))
    for language in languages:
        tantivy_index.register_tokenizer(analyzer_name(language), analyzer(language))
    # One thread and one commit: documents lie in the order of ordinals, so ties are cut in that order too.
    writer = tantivy_index.writer(_HEAP_BYTES, num_threads=1)
    terms = 0
    for ordinal, texts in enumerate(rows):
        fields = {text_field(language): split(text) for language, text in texts.items()}
        writer.add_document(tantivy.Document.from_dict({**fields, ORDINAL_FIELD: ordinal}, schema))
        terms += len(analyzer().analyze(fields[text_field(ENGLISH)]))
    writer.commit()
    writer.wait_merging_threads()
    tantivy_index.reload()
    # A document that Tantivy cannot take drops its whole batch, and the next commit reports success.
    held = tantivy_index.searcher().num_docs
    if held != expected:
        raise RunAborted(f"the index {folder.name} holds {held} tools of {expected} after its commit")
    return terms
