"""Field documents and phrases → vectors: reused by text hash and model key, embedded where new."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.vectors.embedding import Embedding
from pipeline.vectors.encoding import BatchEncoder
from pipeline.vectors.export import export, user_cache
from pipeline.vectors.model import resolve
from pipeline.vectors.reference import ReferenceEncoder
from router.encoding.export import EncoderModel, Export, ExportCache
from router.fingerprint import fingerprint
from router.tools.field_text import FieldDocuments

__all__ = [
    "BatchEncoder",
    "Embedding",
    "EncoderModel",
    "Export",
    "ExportCache",
    "ReferenceEncoder",
    "Vectors",
    "collect",
    "export",
    "resolve",
    "user_cache",
]


@dataclass(frozen=True)
class Vectors:
    """All vectors of a catalog: `documents` (tools, dim), `phrases` (phrases, dim), both float32 and L2-normalised.

    Tool i owns phrases[offsets[i]:offsets[i+1]]. `document_hashes` and `phrase_hashes` are the hashes of their texts.
    """

    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    document_hashes: tuple[str, ...]
    phrase_hashes: tuple[str, ...]
    model: EncoderModel
    export: Export


def collect(documents: Sequence[FieldDocuments], embedding: Embedding, export: Export) -> Vectors:
    """The vectors of a catalog's documents and phrases, embedded where the ledger does not have them."""
    dense = [document.dense for document in documents]
    phrases = [phrase for document in documents for phrase in document.phrases]
    embedding.embed([*dense, *phrases])
    return Vectors(
        documents=embedding.matrix(dense),
        phrases=embedding.matrix(phrases),
        offsets=np.cumsum([0, *(len(document.phrases) for document in documents)], dtype=np.int64),
        document_hashes=tuple(map(fingerprint, dense)),
        phrase_hashes=tuple(map(fingerprint, phrases)),
        model=embedding.model,
        export=export,
    )
