"""Writes field documents into a Tantivy index for each lexical signal, in parts that workers may write."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.execution import DirectExecution, Execution
from pipeline.indexing.segments import SEGMENT_TOOLS, SegmentPart, assemble, shards, write_segment
from router.contract import Signal
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

__all__ = ["index_shard", "write_lexical"]


def write_lexical(
    documents: Sequence[FieldDocuments],
    folder: Path,
    languages: Sequence[str] = (ENGLISH,),
    most_in_one: int = SEGMENT_TOOLS,
    execution: Execution | None = None,
) -> dict[Signal, float]:
    """Write an index for each lexical signal that any tool has text for; a document's position is its tool's ordinal.

    The expansion's has a field for each of `languages`, which include English; the others are in English only. An index
    has one segment up to `most_in_one` tools, else two, each written as a batch of the stage `index`. Returns the
    signals written, each with the mean number of terms of its English field. Raises RunAborted where an index does not
    hold every tool after its commit.
    """
    execution = execution or DirectExecution()
    storage = execution.storage.of_build if execution.storage else folder
    with TemporaryDirectory(prefix=".segments-", dir=storage, ignore_cleanup_errors=True) as parts:
        of_all = f"of {len(documents):,}"
        batches = ((f"{o.start + 1:,}–{o.stop:,} {of_all}", o) for o in shards(len(documents), most_in_one))
        written = execution.map("index", index_shard, batches, documents, Path(parts), languages)
        return assemble((part for _, part in written), folder)


def index_shard(
    ordinals: range, documents: Sequence[FieldDocuments], folder: Path, languages: Sequence[str]
) -> SegmentPart:
    """Return the lexical indexes of consecutive tools, written under `folder`: a stage of a build."""
    # One by one: documents may be read from disk, and slices are not theirs.
    return write_segment([documents[place] for place in ordinals], ordinals.start, folder, languages)
