"""Writes field documents into a Tantivy index for each lexical signal.

Tantivy names segments at random; nothing else about them is. So a segment takes a digest of its files as its name:
equal documents give an index of equal bytes, and an unchanged index is shared with the snapshot before it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import tantivy

from pipeline.errors import RunAborted, SnapshotInvalid
from pipeline.memo import Memo, digest
from router.contract import LEXICAL_SIGNALS, ORDINAL_FIELD, Signal
from router.fingerprint import file_sha256, fingerprint
from router.retrieval.retrievers.indexing import PreparedText, has_text, index_field, prepare_texts
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

_META, _MANAGED = "meta.json", ".managed.json"  # Tantivy's list of segments, and of the files that it may remove


def write_lexical(
    documents: Sequence[FieldDocuments], folder: Path, languages: Sequence[str] = (ENGLISH,), memo: Memo | None = None
) -> dict[Signal, float]:
    """Write an index for each lexical signal that any tool has text for; a document's position is its tool's ordinal.

    The expansion's has a field for each of `languages`, which include English; the others are in English only. `memo`
    has what earlier builds computed. Returns the signals written, each with the mean number of terms of its English
    field. Raises RunAborted where an index does not hold every tool after its commit.
    """
    lengths, memo = {}, memo or Memo()

    def prepare(texts: Sequence[str]) -> list[PreparedText]:
        keys = [digest(text) for text in texts]
        return memo.results("terms", keys, PreparedText, lambda places: prepare_texts([texts[p] for p in places]))

    for signal in LEXICAL_SIGNALS:
        if has_text(signal, documents, languages):
            try:
                index = index_field(signal, documents, languages, folder / signal, prepare)
            except SnapshotInvalid as error:
                raise RunAborted(str(error)) from error
            _name_by_content(folder / signal, _first_ordinals(index.index))
            lengths[signal] = index.mean_length
    return lengths


def _first_ordinals(index: tantivy.Index) -> list[int]:
    """Return the lowest ordinal of each segment, in the order of Tantivy's list.

    There is one segment, unless the texts take more memory than Tantivy's writer is given.
    """
    searcher = index.searcher()
    firsts = [tantivy.DocAddress(segment, 0) for segment in range(searcher.num_segments)]
    ordinals: list[Any] = searcher.fast_field_values(ORDINAL_FIELD, firsts)
    return ordinals


def _name_by_content(folder: Path, first_ordinals: Sequence[int]) -> None:
    """Rename the segments of an index, and list them in the order of ordinals: equal scores are cut in it."""
    meta = json.loads((folder / _META).read_bytes())
    ordered = sorted(zip(first_ordinals, meta["segments"], strict=True), key=lambda pair: pair[0])
    segments, names = [], []
    for _, entry in ordered:
        segment_id, files = _rename(folder, UUID(entry["segment_id"]))
        segments.append({"segment_id": str(segment_id), "max_doc": entry["max_doc"], "deletes": None})
        names += files
    # Tantivy numbers its operations: here, one a tool.
    written: dict[str, Any] = {name: meta[name] for name in ("index_settings", "schema")}
    written |= {"segments": segments, "opstamp": sum(segment["max_doc"] for segment in segments)}
    (folder / _META).write_text(json.dumps(written, indent=2), encoding="utf-8")
    (folder / _MANAGED).write_text(json.dumps([*sorted(names), _META]), encoding="utf-8")


def _rename(folder: Path, random_id: UUID) -> tuple[UUID, list[str]]:
    """Give the files of a segment the name that their content has. Return its id and their names."""
    files = sorted(folder.glob(f"{random_id.hex}.*"))
    digest = fingerprint([[path.suffix, file_sha256(path)] for path in files])
    segment_id = UUID(digest[:32], version=5)  # of a name-based id
    return segment_id, [path.rename(folder / f"{segment_id.hex}{path.suffix}").name for path in files]
