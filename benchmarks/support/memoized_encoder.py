"""An encoder that encodes a request once, however many recipes or catalogs it is asked of."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from router.encoding.encoder import Encoder, Spans


class Remembering:
    """Stands in for an encoder; `known` are the vectors of requests, and may be shared."""

    def __init__(self, encoder: Encoder, known: dict[str, NDArray[np.float32]]) -> None:
        self._encoder = encoder
        self._known = known
        self._parts: dict[tuple[str, tuple[tuple[tuple[int, int], ...], ...]], NDArray[np.float32] | None] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._encoder.encode(texts)

    def encode_request(self, request: str) -> NDArray[np.float32]:
        if request not in self._known:
            self._known[request] = self._encoder.encode_request(request)
        return self._known[request]

    def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.encode_request(request) for request in requests])

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
        key = request, tuple(map(tuple, parts))
        if key not in self._parts:
            self._parts[key] = self._encoder.encode_parts(request, parts)
        return self._parts[key]

    def share_read(self, text: str) -> float:
        return self._encoder.share_read(text)
