"""Texts to vectors through the ledger: what it has is not embedded again, what is new is committed batch by batch."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pipeline.execution import Execution, parts
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.vectors.encoding import BatchEncoder
from router.encoding.export import EncoderModel
from router.fingerprint import fingerprint

_TEXTS_A_STAGE = 1024  # committed together: what a kill may cost, some ten seconds of embedding


class Embedding:
    """Embeds the texts of a build. `embedded` is how many were new to the ledger."""

    def __init__(
        self, model: EncoderModel, encoder: BatchEncoder, ledger: Ledger, do: Execution, progress: Progress
    ) -> None:
        self.model = model
        self.embedded = 0
        self._encoder = encoder
        self._ledger = ledger
        self._do = do
        self._progress = progress

    def embed(self, texts: Iterable[str]) -> None:
        """Put the vectors of texts into the ledger, where they are not there yet."""
        hashes = {fingerprint(text): text for text in dict.fromkeys(texts)}
        known = self._ledger.known_vectors(list(hashes), self.model.key, self.model.dim)
        missing = [hashes[digest] for digest in sorted(set(hashes) - known)]
        self._progress.start("embed", len(missing))
        for label, part in parts(missing, _TEXTS_A_STAGE):
            self.embedded += self._do("embed", partial(self._embed, part), label)

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts that were embedded, float32 of shape (len(texts), dim), row by row."""
        return self._ledger.vectors([fingerprint(text) for text in texts], self.model.key, self.model.dim)

    def _embed(self, texts: Sequence[str]) -> int:
        made = self._encoder.encode(texts, self._progress.advance)
        self._ledger.put_vectors([fingerprint(text) for text in texts], made, self.model.key)
        return len(texts)
