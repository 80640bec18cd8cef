"""Field documents as shards: the stage `project` writes them, in the driver or in workers; later stages read them."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.scratch.shards import SHARD_SIZE, Shards, write_shards
from router.tools.field_text import FieldDocuments

_TEXTS = pa.list_(pa.string())
_COLUMNS = {
    **{field.name: pa.string() for field in fields(FieldDocuments)},
    "phrases": _TEXTS,
    "translations": pa.map_(pa.string(), _TEXTS),
}


def write_document_shard(path: Path, documents: Sequence[FieldDocuments]) -> None:
    """Write documents as one Parquet file, a row each, in their order."""
    columns = {name: [getattr(document, name) for document in documents] for name in _COLUMNS}
    columns["translations"] = [list(texts.items()) for texts in columns["translations"]]
    pq.write_table(pa.table(columns, schema=pa.schema(_COLUMNS)), path)


def read_document_shard(path: Path) -> list[FieldDocuments]:
    """Return the documents of a file that `write_document_shard` wrote."""
    table = pq.read_table(path, use_threads=False)
    columns = {name: table[name].to_pylist() for name in _COLUMNS}
    columns["phrases"] = [tuple(phrases) for phrases in columns["phrases"]]
    columns["translations"] = [
        {code: tuple(texts) for code, texts in translations} for translations in columns["translations"]
    ]
    return [FieldDocuments(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def write_documents(
    documents: Iterable[FieldDocuments], folder: Path, size: int = SHARD_SIZE
) -> Shards[FieldDocuments]:
    """Write documents as shards of `folder`, which is made, and return them."""
    return write_shards(documents, folder, write_document_shard, read_document_shard, size)


def open_documents(paths: Sequence[Path], count: int, size: int = SHARD_SIZE) -> Shards[FieldDocuments]:
    """Return the documents of shards that others wrote: `count` in all, `size` in each but the last."""
    return Shards(paths, count, read_document_shard, size)
