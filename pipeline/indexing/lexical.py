"""Writes field documents into a Tantivy index for each lexical signal, in this process."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.indexing.segments import SEGMENT_TOOLS, assemble, write_segment
from router.contract import Signal
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

__all__ = ["write_lexical"]


def write_lexical(
    documents: Sequence[FieldDocuments],
    folder: Path,
    languages: Sequence[str] = (ENGLISH,),
    segment_tools: int = SEGMENT_TOOLS,
) -> dict[Signal, float]:
    """Write an index for each lexical signal that any tool has text for; a document's position is its tool's ordinal.

    The expansion's has a field for each of `languages`, which include English; the others are in English only. An index
    has a segment for each `segment_tools` tools. Returns the signals written, each with the mean number of terms of its
    English field. Raises RunAborted where an index does not hold every tool after its commit.
    """
    with TemporaryDirectory(prefix=".segments-", dir=folder) as parts:
        return assemble(
            [write_segment(shard, first, Path(parts), languages) for first, shard in _shards(documents, segment_tools)],
            folder,
        )


def _shards(documents: Sequence[FieldDocuments], size: int) -> Iterator[tuple[int, Sequence[FieldDocuments]]]:
    """Yield consecutive documents, `size` at a time, with the ordinal of the first."""
    for first in range(0, len(documents), size):
        # One by one: documents may be read from disk, and slices are not theirs.
        yield first, [documents[place] for place in range(first, min(first + size, len(documents)))]
