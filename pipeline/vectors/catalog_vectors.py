"""All vectors of a catalog, in the order of its documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel, Export
from pipeline.vectors.embedding import Embedding
from router.tools.field_text import FieldDocuments


@dataclass(frozen=True)
class CatalogVectors:
    """All vectors of a catalog, in memory or mapped from files: float32 and L2-normalised.

    `documents` has the shape (tools, dim), `phrases` (phrases, dim); tool i owns phrases[offsets[i]:offsets[i+1]].
    `document_hashes` and `phrase_hashes` are the hashes of their texts. `export` is the encoder that the router runs.
    """

    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    document_hashes: Sequence[str]
    phrase_hashes: Sequence[str]
    model: EncoderModel
    export: Export


def collect_vectors(documents: Sequence[FieldDocuments], embedding: Embedding, export: Export) -> CatalogVectors:
    """Return the vectors of documents and phrases, after embedding those that the ledger does not have.

    They are mapped from files, and need not fit into memory.
    """
    texts = (document.dense for document in documents)
    hashes = embedding.embed(chain(texts, (phrase for document in documents for phrase in document.phrases)))
    document_hashes, phrase_hashes = hashes[: len(documents)], hashes[len(documents) :]
    counts = np.fromiter((len(document.phrases) for document in documents), np.int64, len(documents))
    return CatalogVectors(
        documents=embedding.vectors(document_hashes),
        phrases=embedding.vectors(phrase_hashes),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
        document_hashes=document_hashes,
        phrase_hashes=phrase_hashes,
        model=embedding.model,
        export=export,
    )
