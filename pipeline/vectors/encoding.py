"""Many texts to vectors on every core: batches of like length, a thread a batch.

all-MiniLM-L6-v2 over tools' documents and phrases, texts a second of CPU: sentence-transformers by its defaults 60,
this 94 to 100. Batches of one text give 72, of 32 (1,024 tokens) 87, of 256 (8,192) 48: what a larger one holds leaves
the cache. Two threads that share a session of one thread each pass each other's batches by; one session of two threads
waits, at every operator, for the slower core.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import RunAborted
from router.contract import ENCODER_TOKENIZER
from router.encoding.encoder import OnnxEncoder
from router.encoding.export import Export
from router.errors import SnapshotInvalid
from router.process import cores

_TOKENS = 512  # of a batch, its padding included


class BatchEncoder:
    """An exported encoder over texts as they are, without the query prefix. Loaded at the first text."""

    def __init__(self, export: Export, batch_size: int = 16, threads: int | None = None) -> None:
        """`batch_size` is how many texts a batch holds at most; `threads` are as many as there are cores, or given."""
        self._export = export
        self._batch_size = batch_size
        self._threads = threads or cores()

    def encode(
        self, texts: Sequence[str], advance: Callable[[int], object] = lambda count: None
    ) -> NDArray[np.float32]:
        """L2-normalised vectors, float32 of shape (len(texts), dim); `advance` hears of texts as they are done.

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
        """Tokens of each text, as the model will read it. A hundredth of what it takes to encode them."""
        return np.array([len(found.ids) for found in self._tokenizer.encode_batch_fast(list(texts))], np.int64)

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
    """Places of texts in batches of at most `most` texts and, padded to the longest of them, `tokens` tokens, or of one
    text. Longest first: what is left to the last thread is short. Equal lengths keep their order."""
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        count = min(max(tokens // max(int(lengths[order[first]]), 1), 1), most)
        yield order[first : first + count]
        first += count
