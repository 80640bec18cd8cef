"""What a build keeps on disk instead of in memory: arrays, hashes of texts, and shards of records and documents.

All of it lies in one folder (`folder`), which goes when the build ends. Readers take it as the sequences and arrays
that they would take from memory.
"""

from pipeline.scratch.document_shards import (
    open_documents,
    read_document_shard,
    write_document_shard,
    write_documents,
)
from pipeline.scratch.folder import ScratchFolder, mapped_array, release
from pipeline.scratch.shards import SHARD_SIZE, Shards
from pipeline.scratch.text_hashes import TextHashes
from pipeline.scratch.vector_shards import write_vector_shard

__all__ = [
    "SHARD_SIZE",
    "ScratchFolder",
    "Shards",
    "TextHashes",
    "mapped_array",
    "open_documents",
    "read_document_shard",
    "release",
    "write_document_shard",
    "write_documents",
    "write_vector_shard",
]
