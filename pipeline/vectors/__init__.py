"""Field documents and phrases → vectors: reused by text hash and model key, embedded where new."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.documents import FieldDocuments
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.vectors.export import Export, export
from pipeline.vectors.model import EncoderModel, resolve
from pipeline.vectors.reference import ReferenceEncoder
from router.fingerprint import fingerprint

__all__ = ["EncoderModel", "Vectors", "embed", "resolve"]

_COMMIT_EVERY = 1024  # texts that a kill may cost: about five seconds of embedding


@dataclass(frozen=True)
class Vectors:
    """All vectors of a catalog: `documents` (tools, dim), `phrases` (phrases, dim), both float32 and L2-normalised.

    Tool i owns phrases[offsets[i]:offsets[i+1]]. `document_hashes` and `phrase_hashes` are the hashes of their texts;
    `embedded` and `reused` count distinct texts.
    """

    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    document_hashes: tuple[str, ...]
    phrase_hashes: tuple[str, ...]
    model: EncoderModel
    export: Export
    embedded: int
    reused: int


def embed(
    documents: Sequence[FieldDocuments],
    model: EncoderModel,
    precision: str,
    batch_size: int,
    ledger: Ledger,
    cache: Path,
    progress: Progress,
) -> Vectors:
    """Vectors of every document and phrase; each distinct text is embedded once, ever, for a model."""
    reference = ReferenceEncoder(model, batch_size)
    phrases = [phrase for document in documents for phrase in document.phrases]
    document_hashes = [fingerprint(document.dense) for document in documents]
    phrase_hashes = [fingerprint(phrase) for phrase in phrases]
    texts = dict(zip(document_hashes, (document.dense for document in documents), strict=True))
    texts.update(zip(phrase_hashes, phrases, strict=True))
    known, matrix = ledger.vectors(list(texts), model.key, model.dim)
    missing = sorted(set(texts) - set(known))
    progress.start("embed", len(missing))
    parts = [matrix]
    for first in range(0, len(missing), _COMMIT_EVERY):
        chunk = missing[first : first + _COMMIT_EVERY]
        vectors = reference.encode([texts[digest] for digest in chunk])
        ledger.put_vectors(chunk, vectors, model.key)
        parts.append(vectors)
        progress.advance(len(chunk))
    rows = {digest: row for row, digest in enumerate([*known, *missing])}
    whole = np.concatenate(parts)
    return Vectors(
        documents=whole[[rows[digest] for digest in document_hashes]],
        phrases=whole[np.array([rows[digest] for digest in phrase_hashes], dtype=np.int64)],
        offsets=np.cumsum([0, *(len(document.phrases) for document in documents)], dtype=np.int64),
        document_hashes=tuple(document_hashes),
        phrase_hashes=tuple(phrase_hashes),
        model=model,
        export=export(model, precision, reference, cache),
        embedded=len(missing),
        reused=len(known),
    )
