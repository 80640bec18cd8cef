"""Encoders that tests write themselves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from router.encoding.encoder import Spans


class FakeEncoder:
    """An `Encoder` of which a test writes `encode`. Parts of a request it cannot tell, so they are encoded as texts."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def encode_request(self, request: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.encode_requests([request])[0]
        return vector

    def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(requests)

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
        return None

    def share_read(self, text: str) -> float:
        return 1.0
