"""Texts → vectors through the ledger: known texts are not embedded again, new ones are committed batch by batch."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel, Export
from pipeline.execution import Execution, parts
from pipeline.ledger import Ledger
from pipeline.progress import Progress, forward_advance
from pipeline.scratch import ScratchFolder, chunked
from pipeline.vectors.encoding import embed_texts
from router.fingerprint import fingerprint

_TEXTS_AT_ONCE = 65_536  # that the ledger is asked about
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

        Vectors lie in `scratch`, whose folder outlives this object.
        """
        self.model = model
        self.embedded = 0
        self._export = export
        self._batch_size = batch_size
        self._ledger = ledger
        self._execution = execution
        self._progress = progress
        self._scratch = scratch

    def embed(self, texts: Iterable[str]) -> list[str]:
        """Put the vectors of texts into the ledger, where they are not there yet, and return the hashes of all.

        New ones are embedded in the order of their hashes, so that the batches do not depend on how they came. Each
        batch is committed.
        """
        hashes, missing = list[str](), dict[str, str]()
        for chunk in chunked(texts, _TEXTS_AT_ONCE):
            digests = [fingerprint(text) for text in chunk]
            hashes += digests
            known = self._ledger.vectors.known(digests, self.model.key, self.model.dim)
            missing |= {digest: text for digest, text in zip(digests, chunk, strict=True) if digest not in known}
        batches = parts([missing[digest] for digest in sorted(missing)], _TEXTS_A_STAGE)
        shared = self._export, self._batch_size, self._execution.threads
        self._progress.start("embed", len(missing))
        with forward_advance(self._progress, len(missing)) as ended:
            for batch, vectors in self._execution.map("embed", embed_texts, batches, *shared):
                self._ledger.vectors.put([fingerprint(text) for text in batch], vectors, self.model.key)
                self.embedded += len(batch)
                ended(len(batch))
        return hashes

    def matrix(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of embedded texts, float32 of shape (texts, dim), row by row, mapped from a file."""
        return self.vectors([fingerprint(text) for text in texts])

    def vectors(self, hashes: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of embedded texts by their hashes, as `matrix` does."""
        vectors = self._scratch.array((len(hashes), self.model.dim))
        return self._ledger.vectors.vectors(hashes, self.model.key, self.model.dim, out=vectors)
