"""Texts → vectors on every core, through the ledger: known texts are not embedded again. See docs/decisions/vectors.md.

Batches hold texts of like length, and a thread encodes each. New texts are committed to the ledger batch by batch.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import Export
from pipeline.errors import RunAborted
from pipeline.execution import Execution, parts
from pipeline.ledger import Ledger
from pipeline.progress import Progress, advance_stage, forward_advance
from pipeline.scratch import ScratchFolder, chunked
from router.contract import ENCODER_TOKENIZER, EncoderManifest
from router.encoding.encoder import OnnxEncoder
from router.errors import SnapshotInvalid
from router.fingerprint import fingerprint
from router.process import cores
from router.tools.field_text import FieldDocuments

_TOKENS = 512  # of a batch, its padding included
_TEXTS_AT_ONCE = 65_536  # that the ledger is asked about
_TEXTS_A_STAGE = 1024  # committed together: a kill costs some ten seconds of embedding at most


class BatchEncoder:
    """Encodes texts as they are, without a prefix, by an exported encoder that loads at the first text."""

    def __init__(self, export: Export, batch_size: int = 16, threads: int | None = None) -> None:
        """Load nothing yet. `batch_size` bounds the texts of a batch; `threads` is the number of cores where None."""
        self._export = export
        self._batch_size = batch_size
        self._threads = threads or cores()

    def encode(
        self, texts: Sequence[str], advance: Callable[[int], object] = lambda count: None
    ) -> NDArray[np.float32]:
        """Return L2-normalised vectors, float32 of shape (len(texts), dim); `advance` gets counts of finished texts.

        Raises RunAborted where the exported encoder cannot be loaded.
        """
        vectors = np.empty((len(texts), self._export.spec.dim), np.float32)
        encoder = self._encoder
        lengths = np.array([len(encoded.ids) for encoded in self._tokenizer.encode_batch_fast(list(texts))], np.int64)
        pool = ThreadPoolExecutor(self._threads, "encoder")

        def encode(rows: NDArray[np.int64]) -> int:
            vectors[rows] = encoder.encode_as_is([texts[row] for row in rows])
            return len(rows)

        try:
            for count in pool.map(encode, batches(lengths, self._batch_size)):
                advance(count)
        finally:
            pool.shutdown(cancel_futures=True)
        return vectors

    @cached_property
    def _encoder(self) -> OnnxEncoder:
        try:
            return OnnxEncoder.open(self._export.folder, self._export.spec, threads=1)
        except SnapshotInvalid as error:
            raise RunAborted(str(error)) from error

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._export.folder / ENCODER_TOKENIZER))
        tokenizer.enable_truncation(self._export.spec.max_length)
        tokenizer.no_padding()
        return tokenizer


def batches(lengths: NDArray[np.int64], most: int, tokens: int = _TOKENS) -> Iterator[NDArray[np.int64]]:
    """Yield the positions of texts, batch by batch, longest texts first, so that the last batches are short.

    A batch has at most `most` texts and, padded to its longest, at most `tokens` tokens, or a single text. Equal
    lengths keep their order.
    """
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        count = min(max(tokens // max(int(lengths[order[first]]), 1), 1), most)
        yield order[first : first + count]
        first += count


def embed_texts(texts: Sequence[str], export: Export, batch_size: int, threads: int | None) -> NDArray[np.float32]:
    """Return the vectors of texts, as `BatchEncoder.encode`: a stage of a build. A process opens `export` once."""
    return _opened(export.folder, export.spec, batch_size, threads).encode(texts, advance_stage)


def close_encoders() -> None:
    """Let go of the encoder that `embed_texts` has opened in this process."""
    _opened.cache_clear()


@lru_cache(maxsize=1)
def _opened(folder: Path, spec: EncoderManifest, batch_size: int, threads: int | None) -> BatchEncoder:
    return BatchEncoder(Export(folder, spec, {}), batch_size, threads)


@dataclass
class Embedding:
    """Embeds the texts of a build by the `export` that its router runs. `embedded` counts those new to the ledger.

    `batch_size` bounds the texts encoded at once. Vectors lie in `scratch`, whose folder outlives this object.
    """

    export: Export
    batch_size: int
    ledger: Ledger
    execution: Execution
    progress: Progress
    scratch: ScratchFolder
    embedded: int = 0

    def embed(self, texts: Iterable[str], prefix: str | None = None) -> list[str]:
        """Put the vectors of texts into the ledger, where they are not there yet, and return the hashes of all.

        Each is embedded with `prefix` before it, by default that of documents. New ones are embedded in the order of
        their hashes, so that the batches do not depend on how they came.
        """
        hashes, missing = list[str](), dict[str, str]()
        for chunk in chunked(self._prefixed(texts, prefix), _TEXTS_AT_ONCE):
            digests = [fingerprint(text) for text in chunk]
            hashes += digests
            known = self.ledger.vectors.known(digests, self.export.key, self.export.spec.dim)
            missing |= {digest: text for digest, text in zip(digests, chunk, strict=True) if digest not in known}
        stages = parts([missing[digest] for digest in sorted(missing)], _TEXTS_A_STAGE)
        shared = self.export, self.batch_size, self.execution.threads
        self.progress.start("embed", len(missing))
        with forward_advance(self.progress, len(missing)) as ended:
            for batch, vectors in self.execution.map("embed", embed_texts, stages, *shared):
                self.ledger.vectors.put([fingerprint(text) for text in batch], vectors, self.export.key)
                self.embedded += len(batch)
                ended(len(batch))
        return hashes

    def matrix(self, texts: Iterable[str], prefix: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of embedded texts, float32 of shape (texts, dim), row by row, mapped from a file."""
        return self.vectors([fingerprint(text) for text in self._prefixed(texts, prefix)])

    def _prefixed(self, texts: Iterable[str], prefix: str | None) -> Iterator[str]:
        before = self.export.spec.document_prefix if prefix is None else prefix
        return (before + text for text in texts)

    def vectors(self, hashes: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of embedded texts by their hashes, as `matrix` does."""
        vectors = self.scratch.array((len(hashes), self.export.spec.dim))
        return self.ledger.vectors.vectors(hashes, self.export.key, self.export.spec.dim, out=vectors)


@dataclass(frozen=True)
class CatalogVectors:
    """All vectors of a catalog, in the order of its documents, mapped from files: float32 and L2-normalised.

    `documents` has the shape (tools, dim), `phrases` (phrases, dim); tool i owns phrases[offsets[i]:offsets[i+1]].
    `document_hashes` and `phrase_hashes` are the hashes of their texts. `export` made both, and encodes requests.
    """

    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    document_hashes: Sequence[str]
    phrase_hashes: Sequence[str]
    export: Export


def collect_vectors(documents: Sequence[FieldDocuments], embedding: Embedding) -> CatalogVectors:
    """Return the vectors of documents and phrases, after embedding those that the ledger does not have."""
    texts = (document.dense for document in documents)
    hashes = embedding.embed(chain(texts, (phrase for document in documents for phrase in document.phrases)))
    document_hashes, phrase_hashes = hashes[: len(documents)], hashes[len(documents) :]
    return CatalogVectors(
        documents=embedding.vectors(document_hashes),
        phrases=embedding.vectors(phrase_hashes),
        offsets=np.cumsum([0, *(len(document.phrases) for document in documents)], dtype=np.int64),
        document_hashes=document_hashes,
        phrase_hashes=phrase_hashes,
        export=embedding.export,
    )
