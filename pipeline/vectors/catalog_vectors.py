"""All vectors of a catalog, in the order of its documents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.vectors.embedding import Embedding
from router.encoding.export import EncoderModel, Export
from router.fingerprint import fingerprint
from router.tools.field_text import FieldDocuments


@dataclass(frozen=True)
class CatalogVectors:
    """All vectors of a catalog: `documents` (tools, dim), `phrases` (phrases, dim), both float32 and L2-normalised.

    Tool i owns phrases[offsets[i]:offsets[i+1]]. `document_hashes` and `phrase_hashes` are the hashes of their texts.
    `export` is the encoder that the router runs.
    """

    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    document_hashes: tuple[str, ...]
    phrase_hashes: tuple[str, ...]
    model: EncoderModel
    export: Export


def collect_vectors(documents: Sequence[FieldDocuments], embedding: Embedding, export: Export) -> CatalogVectors:
    """Return the vectors of documents and phrases, after embedding those that the ledger does not have."""
    texts = [document.dense for document in documents]
    phrases = [phrase for document in documents for phrase in document.phrases]
    embedding.embed([*texts, *phrases])
    return CatalogVectors(
        documents=embedding.matrix(texts),
        phrases=embedding.matrix(phrases),
        offsets=np.cumsum([0, *(len(document.phrases) for document in documents)], dtype=np.int64),
        document_hashes=tuple(map(fingerprint, texts)),
        phrase_hashes=tuple(map(fingerprint, phrases)),
        model=embedding.model,
        export=export,
    )
