"""The files that the router maps into memory: records, token counts, vectors, the encoder."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.indexing import dense
from pipeline.records import Catalog
from pipeline.tokens import TokenCounter
from pipeline.vectors import Vectors
from router import contract
from router.retrieval.deduplication import duplicate_groups
from router.retrieval.retrievers import MOST_COPIED, NO_FAISS_WARNING
from router.snapshot.record_store import ToolEntry, json_lines
from router.tools.field_text import FieldDocuments


def write(
    folder: Path,
    catalog: Catalog,
    documents: Sequence[FieldDocuments],
    vectors: Vectors | None,
    counter: TokenCounter,
    expanded: Sequence[contract.Expanded],
) -> None:
    """Write everything that is not an index, in the order of ordinals."""
    lines = json_lines(
        ToolEntry(record, document.phrases) for record, document in zip(catalog.records, documents, strict=True)
    )
    (folder / contract.RECORDS).write_bytes(b"".join(lines))
    np.save(folder / contract.RECORD_OFFSETS, np.cumsum([0, *map(len, lines)], dtype=np.int64))
    np.save(folder / contract.TOKEN_COUNTS, counter.counts(catalog.records))
    # Where all are alike nothing is to be made up for, and no file says so.
    if contract.Expanded.YES in expanded and set(expanded) != {contract.Expanded.YES}:
        np.save(folder / contract.EXPANDED, np.array(expanded, dtype=np.uint8))
    groups = duplicate_groups(catalog.records)
    if (groups != np.arange(len(groups))).any():
        np.save(folder / contract.DUPLICATES, groups)
    if vectors is None:
        return
    dense.write_dense(folder, vectors.documents, vectors.phrases, vectors.offsets)
    (folder / contract.ENCODER_FOLDER).mkdir()
    for name in (contract.ENCODER_MODEL, contract.ENCODER_TOKENIZER):
        _link(vectors.export.folder / name, folder / contract.ENCODER_FOLDER / name)


def unindexed(folder: Path, vectors: Vectors) -> str | None:
    """What to say where a request will be held against so many vectors that it is felt; None where it will not."""
    count = len(vectors.documents) + len(vectors.phrases)
    if count <= MOST_COPIED or (folder / contract.CANDIDATES).exists():
        return None
    return NO_FAISS_WARNING.format(vectors=count)


def _link(source: Path, target: Path) -> None:
    """A hard link where the file system has them: a model of 90 to 440 MB then exists once for all snapshots."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
