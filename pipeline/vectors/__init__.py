"""Field documents and phrases → vectors: reused by text hash and model key, embedded where new."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.documents import FieldDocuments
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.vectors.export import Export, export
from pipeline.vectors.model import EncoderModel, resolve
from pipeline.vectors.reference import ReferenceEncoder
from router.fingerprint import fingerprint

__all__ = ["EncoderModel", "ReferenceEncoder", "Vectors", "collect", "embed", "export", "missing", "resolve"]

_STEP = 128  # texts between two movements of the bar: one to three seconds


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


def missing(documents: Sequence[FieldDocuments], model: EncoderModel, ledger: Ledger) -> list[str]:
    """The distinct texts of documents and phrases that the ledger has no vector for, in the order of their hashes."""
    texts = dict.fromkeys(text for document in documents for text in (document.dense, *document.phrases))
    hashes = {fingerprint(text): text for text in texts}
    known = ledger.known_vectors(list(hashes), model.key, model.dim)
    return [hashes[digest] for digest in sorted(set(hashes) - known)]


def embed(texts: Sequence[str], encoder: ReferenceEncoder, ledger: Ledger, progress: Progress) -> int:
    """Embed texts that the ledger does not have, and commit them together; how many they were."""
    # Of like length together, as the encoder itself would have it: padding is work.
    ordered = sorted(texts, key=len)
    parts = []
    for first in range(0, len(ordered), _STEP):
        parts.append(encoder.encode(ordered[first : first + _STEP]))
        progress.advance(len(parts[-1]))
    ledger.put_vectors([fingerprint(text) for text in ordered], np.concatenate(parts), encoder.model.key)
    return len(texts)


def collect(documents: Sequence[FieldDocuments], export: Export, model: EncoderModel, ledger: Ledger) -> Vectors:
    """The vectors of a catalog from the ledger, where `embed` has put them all."""
    phrases = [phrase for document in documents for phrase in document.phrases]
    document_hashes = [fingerprint(document.dense) for document in documents]
    phrase_hashes = [fingerprint(phrase) for phrase in phrases]
    known, matrix = ledger.vectors(list({*document_hashes, *phrase_hashes}), model.key, model.dim)
    rows = {digest: row for row, digest in enumerate(known)}
    return Vectors(
        documents=matrix[[rows[digest] for digest in document_hashes]],
        phrases=matrix[np.array([rows[digest] for digest in phrase_hashes], dtype=np.int64)],
        offsets=np.cumsum([0, *(len(document.phrases) for document in documents)], dtype=np.int64),
        document_hashes=tuple(document_hashes),
        phrase_hashes=tuple(phrase_hashes),
        model=model,
        export=export,
    )
