"""Builds the Tantivy index of a lexical signal: on disk for a build, in memory for `Router.from_tools`.

Index time and query time share the analyzers of `router.text`. All indexes are written here, so that a tool ranks the
same wherever its index lies.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tantivy

from router.contract import LEXICAL_SIGNALS, ORDINAL_FIELD, Signal, text_field
from router.errors import SnapshotInvalid
from router.text import ENGLISH, analyzer, analyzer_name, pretokenize
from router.tools.field_text import FieldDocuments

# A limit, not an allocation. Past it Tantivy starts another segment; within one segment ties have one order.
_HEAP_BYTES = 2_000_000_000
_TOOLS_A_PART = 4_096  # whose prepared texts are in memory at once


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text as an index takes it, and how many English terms it has."""

    text: str
    terms: int


Prepare = Callable[[Sequence[str]], Sequence[PreparedText]]


def prepare_texts(texts: Sequence[str]) -> list[PreparedText]:
    """Return texts with their identifiers split, and their numbers of English terms."""
    analyze = analyzer().analyze
    return [PreparedText(prepared, len(analyze(prepared))) for prepared in map(pretokenize, texts)]


@dataclass(frozen=True, slots=True)
class FieldIndex:
    """The index of one signal over some tools; `terms` is how many terms its English field has in all of them."""

    index: tantivy.Index
    terms: int
    tools: int

    @property
    def mean_length(self) -> float:
        """Return the mean number of terms of its English field. BM25 needs it for tools that are registered later."""
        return self.terms / self.tools


def index_fields(documents: Sequence[FieldDocuments]) -> dict[Signal, FieldIndex]:
    """Index in memory, in English, each lexical signal that any tool has text for; raise as `index_field` does."""
    return {
        signal: index_field(signal, documents) for signal in LEXICAL_SIGNALS if has_text(signal, documents, (ENGLISH,))
    }


def has_text(signal: Signal, documents: Iterable[FieldDocuments], languages: Sequence[str]) -> bool:
    """Return whether any tool has text for a signal, in any of the languages that its index has."""
    fields = _languages_of(signal, languages)
    return any(_text(document, signal, language) for document in documents for language in fields)


def index_field(
    signal: Signal,
    documents: Sequence[FieldDocuments],
    languages: Sequence[str] = (ENGLISH,),
    folder: Path | None = None,
    prepare: Prepare = prepare_texts,
) -> FieldIndex:
    """Index one signal of tools, whose positions are their ordinals.

    The index is written into `folder`, which is made, or into memory where that is None. The expansion's has a field
    for each of `languages`, which include English; the others are in English only. Raises SnapshotInvalid where the
    index does not hold every tool after its commit. `prepare` is `prepare_texts`, or gives the same.
    """
    fields = _languages_of(signal, languages)
    index = _empty(_schema(fields), folder)
    for language in fields:
        index.register_tokenizer(analyzer_name(language), analyzer(language))
    terms = _add(index, _prepared(signal, documents, fields, prepare))
    # A document that Tantivy rejects drops its whole batch, and the next commit still reports success.
    count = index.searcher().num_docs
    if count != len(documents):
        raise SnapshotInvalid(f"the index {signal} holds {count} tools of {len(documents)} after its commit")
    return FieldIndex(index, terms, count)


def _languages_of(signal: Signal, languages: Sequence[str]) -> Sequence[str]:
    return languages if signal is Signal.EXPANSION else (ENGLISH,)


def _text(document: FieldDocuments, signal: Signal, language: str) -> str:
    return document.text(signal) if language == ENGLISH else document.translation(language)


def _schema(languages: Sequence[str]) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for language in languages:
        builder.add_text_field(
            text_field(language), stored=False, tokenizer_name=analyzer_name(language), index_option="freq"
        )
    builder.add_unsigned_field(ORDINAL_FIELD, stored=False, indexed=False, fast=True)
    return builder.build()


def _empty(schema: tantivy.Schema, path: Path | None) -> tantivy.Index:
    if path is None:
        return tantivy.Index(schema)
    path.mkdir(parents=True)
    return tantivy.Index(schema, path=str(path))


def _prepared(
    signal: Signal, documents: Sequence[FieldDocuments], languages: Sequence[str], prepare: Prepare
) -> Iterator[dict[str, PreparedText]]:
    """Yield the texts of each tool by language, prepared some thousands at a time."""
    for first in range(0, len(documents), _TOOLS_A_PART):
        part = documents[first : first + _TOOLS_A_PART]
        by_language = [prepare([_text(document, signal, language) for document in part]) for language in languages]
        yield from (dict(zip(languages, texts, strict=True)) for texts in zip(*by_language, strict=True))


def _add(index: tantivy.Index, rows: Iterable[Mapping[str, PreparedText]]) -> int:
    """Add rows, each the texts of one tool by language; return how many terms their English texts have."""
    # One thread and one commit: documents lie in the order of ordinals, so ties are cut in that order too.
    writer = index.writer(_HEAP_BYTES, num_threads=1)
    terms = 0
    for ordinal, texts in enumerate(rows):
        fields = {text_field(language): prepared.text for language, prepared in texts.items()}
        writer.add_document(tantivy.Document.from_dict({**fields, ORDINAL_FIELD: ordinal}, index.schema))
        terms += texts[ENGLISH].terms
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return terms
