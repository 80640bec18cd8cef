"""Field documents → three Tantivy indexes on disk."""

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
    """Write an index for each lexical signal that any tool has text for; the position of a document is its ordinal.

    The expansion's has a field for each of `languages`, English among them, the others have English alone. Returns the
    signals written, each with the mean number of terms of its English field. Raises RunAborted where an index does not
    hold every tool after its commit.
    """
    try:
        written = index_fields(documents, folder, languages)
    except SnapshotInvalid as error:
        raise RunAborted(str(error)) from error
    return {signal: field.mean_length for signal, field in written.items()}
