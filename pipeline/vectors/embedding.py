"""Texts → vectors through the ledger: known texts are not embedded again, new ones are committed batch by batch."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.execution import Execution, parts
from pipeline.ledger import Ledger
from pipeline.progress import Progress, forward_advance
from pipeline.vectors.encoding import embed_texts
from router.encoding.export import EncoderModel, Export
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
    ) -> None:
        """Load nothing yet. `export` is the model's fp32 export; `batch_size` bounds the texts encoded at once."""
        self.model = model
        self.embedded = 0
        self._export = export
        self._batch_size = batch_size
        self._ledger = ledger
        self._execution = execution
        self._progress = progress

    def embed(self, texts: Iterable[str]) -> None:
        """Put the vectors of texts into the ledger, where they are not there yet."""
        hashes = {fingerprint(text): text for text in dict.fromkeys(texts)}
        known = self._ledger.known_vectors(list(hashes), self.model.key, self.model.dim)
        missing = [hashes[digest] for digest in sorted(set(hashes) - known)]
        self._progress.start("embed", len(missing))
        batches, threads = parts(missing, _TEXTS_A_STAGE), self._execution.threads
        with forward_advance(self._progress, len(missing)) as ended:
            for batch, vectors in self._execution.map(
                "embed", embed_texts, batches, self._export, self._batch_size, threads
            ):
                self._ledger.put_vectors([fingerprint(text) for text in batch], vectors, self.model.key)
                self.embedded += len(batch)
                ended(len(batch))

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of embedded texts, float32 of shape (len(texts), dim), row by row."""
        return self._ledger.vectors([fingerprint(text) for text in texts], self.model.key, self.model.dim)
