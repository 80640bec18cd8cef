"""Stand-ins for the tool searches that providers host, which no benchmark can reach.

Their providers document what they read: the tool's name and description, the names and descriptions of its arguments.
BM25 runs on Tantivy with the router's own analyzer, which splits identifiers and stems; the regular expression is
Python's. Both may be better or worse than the real ones.
"""

import re
from collections.abc import Sequence

import tantivy
from tantivy import Occur, Query

from router.record import ToolRecord
from router.text import identifier_words, pretokenize, terms

FOUND = 5  # "3-5 results"
_LEAST_LETTERS = 4


def searched_text(record: ToolRecord) -> str:
    """Return the text of a tool that a hosted search reads."""
    name = " ".join(identifier_words(record.tool_id))
    arguments = (f"{parameter.path} {parameter.description}" for parameter in record.parameters)
    return "\n".join([record.tool_id, name, record.description, *arguments])


class Bm25Search:
    """Finds tools by BM25 of the search's words."""

    def __init__(self, records: Sequence[ToolRecord]) -> None:
        self._records = list(records)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
        builder.add_unsigned_field("ordinal", fast=True)
        self._schema = builder.build()
        index = tantivy.Index(self._schema)
        writer = index.writer(num_threads=1)
        for ordinal, record in enumerate(self._records):
            document = tantivy.Document()
            document.add_text("text", " ".join(terms(searched_text(record))))
            document.add_unsigned("ordinal", ordinal)
            writer.add_document(document)
        writer.commit()
        index.reload()
        self._searcher = index.searcher()

    def find(self, words: str) -> list[ToolRecord]:
        """Return the best tools, at most five."""
        clauses = [
            (Occur.Should, Query.term_query(self._schema, "text", term, "freq")) for term in dict.fromkeys(terms(words))
        ]
        hits = self._searcher.search(Query.boolean_query(clauses), len(self._records), count=False).hits
        ordinals = self._searcher.fast_field_values("ordinal", [address for _, address in hits])
        scored = [(-(score or 0.0), int(at or 0)) for (score, _), at in zip(hits, ordinals, strict=True)]
        return [self._records[ordinal] for _, ordinal in sorted(scored)[:FOUND]]


class RegexSearch:
    """Finds tools by a regular expression, which a model writes: here the longer words of its search, any of them.

    Providers do not say in which order matches come: those that match the most of the words come first.
    """

    def __init__(self, records: Sequence[ToolRecord]) -> None:
        self._texts = [(record, searched_text(record)) for record in records]

    def find(self, words: str) -> list[ToolRecord]:
        """Return the best tools, at most five."""
        longer = [word for word in pretokenize(words).split() if len(word) >= _LEAST_LETTERS]
        patterns = [re.compile(re.escape(word), re.IGNORECASE) for word in dict.fromkeys(longer)]
        matches = [(sum(bool(p.search(text)) for p in patterns), record) for record, text in self._texts]
        ranked = sorted(matches, key=lambda match: -match[0])
        return [record for count, record in ranked[:FOUND] if count]
