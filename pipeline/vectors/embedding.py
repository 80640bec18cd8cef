"""Texts to vectors through the ledger: what it has is not embedded again, what is new is committed batch by batch."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pipeline.execution import Execution, parts
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.settings import VectorSettings
from pipeline.vectors.model import EncoderModel
from pipeline.vectors.reference import ReferenceEncoder
from router.fingerprint import fingerprint

_STEP = 128  # texts between two movements of the bar: one to three seconds
_TEXTS_A_STAGE = 1024  # committed together: what a kill may cost, some ten seconds of embedding


class Embedding:
    """Embeds the texts of a build. `embedded` is how many were new to the ledger."""

    def __init__(
        self, settings: VectorSettings, model: EncoderModel, ledger: Ledger, do: Execution, progress: Progress
    ) -> None:
        self.model = model
        self.encoder = ReferenceEncoder(model, settings.batch_size)
        self.embedded = 0
        self._ledger = ledger
        self._do = do
        self._progress = progress

    def embed(self, texts: Iterable[str]) -> None:
        """Put the vectors of texts into the ledger, where they are not there yet."""
        hashes = {fingerprint(text): text for text in texts}
        known = self._ledger.known_vectors(list(hashes), self.model.key, self.model.dim)
        missing = [hashes[digest] for digest in sorted(set(hashes) - known)]
        self._progress.start("embed", len(missing))
        for label, part in parts(missing, _TEXTS_A_STAGE):
            self.embedded += self._do("embed", partial(self._embed, part), label)

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts that were embedded, float32 of shape (len(texts), dim), row by row."""
        hashes = [fingerprint(text) for text in texts]
        known, matrix = self._ledger.vectors(sorted(set(hashes)), self.model.key, self.model.dim)
        rows = {digest: row for row, digest in enumerate(known)}
        return matrix[np.array([rows[digest] for digest in hashes], dtype=np.int64)]

    def _embed(self, texts: Sequence[str]) -> int:
        # Of like length together, as the encoder itself would have it: padding is work.
        ordered = sorted(texts, key=len)
        made = []
        for first in range(0, len(ordered), _STEP):
            made.append(self.encoder.encode(ordered[first : first + _STEP]))
            self._progress.advance(len(made[-1]))
        self._ledger.put_vectors([fingerprint(text) for text in ordered], np.concatenate(made), self.model.key)
        return len(ordered)
