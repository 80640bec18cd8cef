"""Writes field documents into a Tantivy index for each lexical signal, in this process."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.indexing.segments import SEGMENT_TOOLS, assemble, shards, write_segment
from router.contract import Signal
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

__all__ = ["write_lexical"]


def write_lexical(
    documents: Sequence[FieldDocuments],
    folder: Path,
    languages: Sequence[str] = (ENGLISH,),
    most_in_one: int = SEGMENT_TOOLS,
) -> dict[Signal, float]:
    """Write an index for each lexical signal that any tool has text for; a document's position is its tool's ordinal.

    The expansion's has a field for each of `languages`, which include English; the others are in English only. An index
    has one segment up to `most_in_one` tools, else two. Returns the signals written, each with the mean number of terms
    of its English field. Raises RunAborted where an index does not hold every tool after its commit.
    """
    with TemporaryDirectory(prefix=".segments-", dir=folder) as parts:
        written = []
        for shard in shards(len(documents), most_in_one):
            # One by one: documents may be read from disk, where there are no slices.
            texts = [documents[ordinal] for ordinal in shard]
            written.append(write_segment(texts, shard.start, Path(parts), languages))
        return assemble(written, folder)
