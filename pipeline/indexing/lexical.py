"""Writes field documents into a Tantivy index for each lexical signal."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import RunAborted, SnapshotInvalid
from router.contract import Signal
from router.retrieval.retrievers.indexing import index_fields
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

__all__ = ["write_lexical"]


def write_lexical(
    documents: Sequence[FieldDocuments], folder: Path, languages: Sequence[str] = (ENGLISH,)
) -> dict[Signal, float]:
    """Write an index for each lexical signal that any tool has text for; a document's position is its tool's ordinal.

    The expansion's has a field for each of `languages`, which include English; the others are in English only. Returns
    the signals written, each with the mean number of terms of its English field. Raises RunAborted where an index does
    not hold every tool after its commit.
    """
    try:
        indexes = index_fields(documents, folder, languages)
    except SnapshotInvalid as error:
        raise RunAborted(str(error)) from error
    return {signal: field.mean_length for signal, field in indexes.items()}
