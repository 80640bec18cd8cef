"""Texts → vectors through the ledger: known texts are not embedded again, new ones are committed batch by batch."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel, Export
from pipeline.execution import Execution
from pipeline.ledger import Ledger
from pipeline.progress import Progress, forward_advance
from pipeline.scratch import ScratchFolder, TextHashes
from pipeline.scratch.text_hashes import chunked
from pipeline.vectors.encoding import embed_shard, embed_texts
from router.fingerprint import fingerprint

_TEXTS_A_STAGE = 1024  # committed together: a kill costs some ten seconds of embedding at most


class Embedding:
    """Embeds the texts of a build. `embedded` counts the texts that were new to the ledger."""

    def __init__(
        self,
        model: EncoderModel,
        export: Export,
        batch_size: int,
        ledger: Ledger,
        execution: Execution,
        progress: Progress,
        scratch: ScratchFolder,
    ) -> None:
        """Load nothing yet. `export` is the model's fp32 export; `batch_size` bounds the texts encoded at once.

        Hashes and vectors of texts lie in `scratch`, whose folder outlives this object.
        """
        self.model = model
        self.embedded = 0
        self._export = export
        self._batch_size = batch_size
        self._ledger = ledger
        self._execution = execution
        self._progress = progress
        self._scratch = scratch

    def embed(self, texts: Iterable[str]) -> TextHashes:
        """Put the vectors of texts into the ledger, where they are not there yet, and return the hashes of all.

        Texts are read once, and but a chunk of them is in memory. New ones are embedded in the order of their hashes,
        so that the batches do not depend on how they came.
        """
        gathered = False

        def hashed(chunk: list[str]) -> list[str]:
            nonlocal gathered
            hashes = [fingerprint(text) for text in chunk]
            by_hash = dict(zip(hashes, chunk, strict=True))
            known = self._ledger.vectors.known(list(by_hash), self.model.key, self.model.dim)
            if missing := {digest: text for digest, text in by_hash.items() if digest not in known}:
                if not gathered:
                    self._ledger.vectors.open_missing_texts()
                gathered = True
                self._ledger.vectors.add_missing_texts(missing)
            return hashes

        hashes = TextHashes.write(map(hashed, chunked(texts)), self._scratch)
        self._embed_missing(self._ledger.vectors.sort_missing_texts() if gathered else 0)
        return hashes

    def _embed_missing(self, count: int) -> None:
        self._progress.start("embed", count)
        with forward_advance(self._progress, count) as ended:
            for size in self._embed_here(count) if self._execution.storage is None else self._embed_on_workers(count):
                self.embedded += size
                ended(size)
        if count:
            self._ledger.vectors.close_missing_texts()

    def _embed_here(self, count: int) -> Iterator[int]:
        """Embed new texts, commit each batch, and yield its size."""
        shared = self._export, self._batch_size, self._execution.threads
        for batch, vectors in self._execution.map("embed", embed_texts, self._missing(count), *shared):
            self._ledger.vectors.put([fingerprint(text) for text in batch], vectors, self.model.key)
            yield len(batch)

    def _embed_on_workers(self, count: int) -> Iterator[int]:
        """Do the same by shards on the storage: no vector crosses a scheduler, or is read into Python here."""
        assert self._execution.storage is not None
        folder = self._execution.storage.of_build
        shared = folder, self._export, self._batch_size, self._execution.threads
        for batch, shard in self._execution.map("embed", embed_shard, self._missing(count), *shared):
            self._ledger.vectors.put_shard(shard, self.model.key, self.model.dim)
            shard.unlink()
            yield len(batch)

    def _missing(self, count: int) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the batches of new texts, each with its label."""
        for first in range(0, count, _TEXTS_A_STAGE):
            batch = self._ledger.vectors.missing_texts(first, _TEXTS_A_STAGE)
            yield f"{first + 1:,}–{first + len(batch):,} of {count:,}", batch

    def matrix(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of embedded texts, float32 of shape (texts, dim), row by row, mapped from a file."""
        chunks = ([fingerprint(text) for text in chunk] for chunk in chunked(texts))
        return self.vectors(TextHashes.write(chunks, self._scratch))

    def vectors(self, hashes: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of embedded texts by their hashes, as `matrix` does."""
        vectors = self._scratch.array((len(hashes), self.model.dim))
        return self._ledger.vectors.vectors(hashes, self.model.key, self.model.dim, out=vectors)
