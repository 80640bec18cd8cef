"""Field documents → three Tantivy indexes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import tantivy

from pipeline.documents import FieldDocuments
from pipeline.errors import RunAborted
from router.contract import LEXICAL_SIGNALS, ORDINAL_FIELD, TEXT_FIELD, Signal
from router.text import ANALYZER_NAME, analyzer, split

__all__ = ["index"]

_HEAP_BYTES = 128_000_000  # one segment for up to 100,000 tools, and one segment means one order of ties


def index(documents: Sequence[FieldDocuments], folder: Path) -> tuple[Signal, ...]:
    """Write an index for each lexical signal that any tool has text for; the position of a document is its ordinal.

    Returns the signals written. Raises RunAborted where an index does not hold every tool after its commit.
    """
    written = tuple(s for s in LEXICAL_SIGNALS if any(document.text(s) for document in documents))
    for signal in written:
        _write((document.text(signal) for document in documents), len(documents), folder / signal)
    return written


def _write(texts: Iterable[str], expected: int, folder: Path) -> None:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(TEXT_FIELD, stored=False, tokenizer_name=ANALYZER_NAME, index_option="freq")
    builder.add_unsigned_field(ORDINAL_FIELD, stored=False, indexed=False, fast=True)
    schema = builder.build()
    folder.mkdir(parents=True)
    tantivy_index = tantivy.Index(schema, path=str(folder))
    tantivy_index.register_tokenizer(ANALYZER_NAME, analyzer())
    # One thread and one commit: documents lie in the order of ordinals, so ties are cut in that order too.
    writer = tantivy_index.writer(_HEAP_BYTES, num_threads=1)
    for ordinal, text in enumerate(texts):
        writer.add_document(tantivy.Document.from_dict({TEXT_FIELD: split(text), ORDINAL_FIELD: ordinal}, schema))
    writer.commit()
    writer.wait_merging_threads()
    tantivy_index.reload()
    # A document that Tantivy cannot take drops its whole batch, and the next commit reports success.
    held = tantivy_index.searcher().num_docs
    if held != expected:
        raise RunAborted(f"the index {folder.name} holds {held} tools of {expected} after its commit")
