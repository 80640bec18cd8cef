"""Many texts → vectors on every core: batches of like length, a thread for each batch.

See docs/decisions/vectors.md.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import Export
from pipeline.errors import RunAborted
from pipeline.progress import advance_stage
from router.contract import ENCODER_TOKENIZER, EncoderManifest
from router.encoding.encoder import OnnxEncoder
from router.errors import SnapshotInvalid
from router.process import cores

_TOKENS = 512  # of a batch, its padding included


class BatchEncoder:
    """Encodes texts as they are, without the query prefix, by an exported encoder that loads at the first text."""

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
        pool = ThreadPoolExecutor(self._threads, "encoder")

        def encode(rows: NDArray[np.int64]) -> int:
            vectors[rows] = encoder.encode([texts[row] for row in rows])
            return len(rows)

        try:
            for count in pool.map(encode, batches(self._lengths(texts), self._batch_size)):
                advance(count)
        finally:
            pool.shutdown(cancel_futures=True)
        return vectors

    def _lengths(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of tokens of each text as the model reads it, int64 of shape (len(texts),)."""
        return np.array([len(encoded.ids) for encoded in self._tokenizer.encode_batch_fast(list(texts))], np.int64)

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


def embed_texts(texts: Sequence[str], export: Export, batch_size: int, threads: int | None) -> NDArray[np.float32]:
    """Return the vectors of texts, as `BatchEncoder.encode`: a stage of a build. A process opens `export` once."""
    return _opened(export.folder, export.spec, batch_size, threads).encode(texts, advance_stage)


def close_encoders() -> None:
    """Let go of the encoder that `embed_texts` has opened in this process."""
    _opened.cache_clear()


@lru_cache(maxsize=1)
def _opened(folder: Path, spec: EncoderManifest, batch_size: int, threads: int | None) -> BatchEncoder:
    return BatchEncoder(Export(folder, spec, {}), batch_size, threads)


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
