"""Lexical indexes of two segments, as texts give that take more memory than Tantivy's writer has."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import pytest
import tantivy

from router.contract import ORDINAL_FIELD, text_field
from router.retrieval.retrievers import indexing
from router.retrieval.retrievers.indexing import PreparedText
from router.text import ENGLISH


@contextmanager
def in_two_segments(first: int) -> Iterator[None]:
    """Let indexes have two segments, the first of so many tools: Tantivy begins another with each commit."""

    def add(index: tantivy.Index, rows: Iterable[Mapping[str, PreparedText]]) -> int:
        writer, terms = index.writer(num_threads=1), 0
        for ordinal, texts in enumerate(rows):
            if ordinal == first:
                writer.commit()
            fields = {text_field(language): prepared.text for language, prepared in texts.items()}
            writer.add_document(tantivy.Document.from_dict({**fields, ORDINAL_FIELD: ordinal}, index.schema))
            terms += texts[ENGLISH].terms
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return terms

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "_add", add)
        yield
