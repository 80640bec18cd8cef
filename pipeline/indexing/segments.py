"""Lexical indexes in parts: `write_segment` indexes consecutive tools, `assemble` puts the parts into one index.

Tantivy names segments at random and offers no merge, but the bytes of a segment depend on neither its name nor the
process that wrote it. So a segment takes a digest of its files as its name, and the list of segments is written here:
an index has the same bytes wherever its segments were built. See docs/decisions/0090-segments-by-content.md.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import tantivy

from pipeline.errors import RunAborted, SnapshotInvalid
from router.contract import LEXICAL_SIGNALS, ORDINAL_FIELD, Signal
from router.fingerprint import file_sha256, fingerprint
from router.retrieval.retrievers.indexing import has_text, index_field
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

__all__ = ["SEGMENT_TOOLS", "FieldSegments", "Segment", "SegmentPart", "assemble", "shards", "write_segment"]

# A catalog of more tools has two parts. A constant, as another number gives other bytes.
SEGMENT_TOOLS = 65_536
_META, _MANAGED = "meta.json", ".managed.json"  # Tantivy's list of segments, and of the files that it may remove


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of an index: its id, how many tools it holds, and its files, whose names begin with the id."""

    segment_id: UUID
    tools: int
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class FieldSegments:
    """The segments of one signal over the tools of a part, in the order of ordinals: one, but for very long texts.

    `header` is what Tantivy's list of segments says beside them: settings and schema. `terms` is the number of terms of
    the English field; `has_text` says whether any tool has text.
    """

    segments: tuple[Segment, ...]
    header: Mapping[str, Any]
    terms: int
    has_text: bool


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """The lexical signals of `tools` consecutive tools, indexed; small and picklable. `tantivy` is its version."""

    first_ordinal: int
    tools: int
    fields: Mapping[Signal, FieldSegments]
    tantivy: str


def shards(tools: int, most_in_one: int = SEGMENT_TOOLS) -> list[range]:
    """Return the ordinals of each part of a catalog of so many tools: one part up to `most_in_one` tools, else two.

    Not more: where Tantivy joins the hits of three segments or more, the tools that it cuts of those with equal scores
    are not always those with the highest ordinals.
    """
    if tools <= most_in_one:
        return [range(tools)] if tools else []
    middle = (tools + 1) // 2
    return [range(middle), range(middle, tools)]


def write_segment(
    documents: Sequence[FieldDocuments], first_ordinal: int, folder: Path, languages: Sequence[str] = (ENGLISH,)
) -> SegmentPart:
    """Index each lexical signal of consecutive tools, the first of which has the ordinal `first_ordinal`.

    The files lie in a new folder under `folder`, so one part may be written twice at the same time. A signal that these
    tools have no text for is indexed too: others may have text. Raises RunAborted where an index does not hold every
    tool after its commit.
    """
    home = folder / f"{first_ordinal}-{uuid4().hex}"
    fields = {}
    try:
        for signal in LEXICAL_SIGNALS:
            fields[signal] = _write_field(signal, documents, languages, home / signal, first_ordinal)
    except SnapshotInvalid as error:
        raise RunAborted(str(error)) from error
    return SegmentPart(first_ordinal, len(documents), fields, version("tantivy"))


def assemble(parts: Iterable[SegmentPart], folder: Path) -> dict[Signal, float]:
    """Write an index for each lexical signal that a tool of any part has text for, from all parts of a catalog.

    The indexes are new subfolders of `folder`; files are linked where the file system allows, and else copied. Returns
    the signals written, each with the mean number of terms of its English field. Raises RunAborted where a part is
    missing, or was written with other languages or another Tantivy than this process has.
    """
    ordered = sorted(parts, key=lambda part: part.first_ordinal)
    _check(ordered)
    lengths = {}
    for signal in LEXICAL_SIGNALS:
        fields = [part.fields[signal] for part in ordered]
        if any(field.has_text for field in fields):
            _write_index(fields, folder / signal)
            lengths[signal] = sum(field.terms for field in fields) / sum(part.tools for part in ordered)
    return lengths


def _write_field(
    signal: Signal, documents: Sequence[FieldDocuments], languages: Sequence[str], folder: Path, first_ordinal: int
) -> FieldSegments:
    """Index one signal; in halves where texts are so long that Tantivy starts another segment before the last tool."""
    index = index_field(signal, documents, languages, folder, first_ordinal)
    if not _in_order(index.index, range(first_ordinal, first_ordinal + len(documents))):
        middle = len(documents) // 2
        left = _write_field(signal, documents[:middle], languages, folder / "0", first_ordinal)
        right = _write_field(signal, documents[middle:], languages, folder / "1", first_ordinal + middle)
        written = has_text(signal, documents, languages)
        return FieldSegments(left.segments + right.segments, left.header, index.terms, written)
    meta = json.loads((folder / _META).read_bytes())
    (entry,) = meta["segments"]
    header = {name: meta[name] for name in ("index_settings", "schema")}
    segment = _rename(folder, UUID(entry["segment_id"]), len(documents))
    return FieldSegments((segment,), header, index.terms, has_text(signal, documents, languages))


def _in_order(index: tantivy.Index, ordinals: range) -> bool:
    """Return whether an index is one segment whose documents lie in the order of ordinals."""
    searcher = index.searcher()
    if searcher.num_segments != 1:
        return False
    addresses = [tantivy.DocAddress(0, place) for place in range(len(ordinals))]
    return list(searcher.fast_field_values(ORDINAL_FIELD, addresses)) == list(ordinals)


def _rename(folder: Path, random_id: UUID, tools: int) -> Segment:
    """Give the files of a segment the name that their content has."""
    files = sorted(folder.glob(f"{random_id.hex}.*"))
    digest = fingerprint([[path.suffix, file_sha256(path)] for path in files])
    segment_id = UUID(digest[:32], version=5)  # of a name-based id
    renamed = [path.rename(folder / f"{segment_id.hex}{path.suffix}") for path in files]
    return Segment(segment_id, tools, tuple(renamed))


def _check(parts: Sequence[SegmentPart]) -> None:
    expected = 0
    for part in parts:
        if part.first_ordinal != expected:
            raise RunAborted(
                f"the lexical indexes have no part for the tools from {expected:,}: the next one begins at "
                f"{part.first_ordinal:,}; build again"
            )
        if part.tantivy != version("tantivy"):
            raise RunAborted(
                f"a worker indexed with tantivy {part.tantivy}, and this process has {version('tantivy')}: install the "
                "same version everywhere"
            )
        if any(part.fields[signal].header != parts[0].fields[signal].header for signal in LEXICAL_SIGNALS):
            raise RunAborted(
                "parts of the lexical indexes were written with other languages than the first; build again"
            )
        expected += part.tools


def _write_index(fields: Sequence[FieldSegments], folder: Path) -> None:
    """Write an index of segments in this order, which is that of ordinals: equal scores are cut in it."""
    folder.mkdir(parents=True)
    segments = [segment for field in fields for segment in field.segments]
    names = []
    for path in (path for segment in segments for path in segment.files):
        _place(path, folder / path.name)
        names.append(path.name)
    entries = [{"segment_id": str(s.segment_id), "max_doc": s.tools, "deletes": None} for s in segments]
    # Tantivy numbers its operations: here, one a tool.
    meta = {**fields[0].header, "segments": entries, "opstamp": sum(segment.tools for segment in segments)}
    (folder / _META).write_text(json.dumps(meta, indent=2), encoding="utf-8")
    (folder / _MANAGED).write_text(json.dumps([*sorted(names), _META]), encoding="utf-8")


def _place(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or no links here
        shutil.copyfile(source, target)
