"""An encoder that keeps the vectors of the requests last asked, and encodes what it lacks in batches of like length."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from router.encoding.encoder import Encoder, OnnxEncoder, Spans
from router.process import renew_in_child
from router.snapshot.snapshot import Snapshot

Vector = NDArray[np.float32]

# Texts encoded together; a vector differs from that of the text alone by 1e-7 at most. CPU time of 251 requests
# (catalogs/demo, all-MiniLM-L6-v2, one thread) over that of one by one, median of five: in pairs .85, in fours .73, in
# eights .73, in sixteens .76, in sixty-fours .83.
_BATCH = 8
# Characters of a batch as padded, some thousand tokens: ONNX Runtime keeps the memory of the largest batch it ran.
_PADDED = 4_096


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """How a request cache serves: requests (and steps of requests) whose vector it had, and had not; how many vectors
    it holds, and may hold."""

    hits: int = 0
    misses: int = 0
    size: int = 0
    capacity: int = 0

    @property
    def hit_rate(self) -> float:
        """Hits over look-ups; 0 before the first."""
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


class CachedEncoder:
    """An `Encoder` over another, with the vectors of the last `capacity` requests; the longest unused goes first.

    Entries are kept by digest: 16 bytes and a vector (1.5 KB at 384 dimensions), or those of a request and its steps,
    however long they are, and no request's text. Threads share it. The lock is held to look up and to enter, never
    while encoding: two threads with one new request both encode it.
    """

    def __init__(self, encoder: Encoder, capacity: int, batch: int = _BATCH) -> None:
        self._encoder = encoder
        self._capacity = capacity
        self._batch = batch
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")
        self._hits = self._misses = 0

    @property
    def statistics(self) -> CacheStatistics:
        """Counted since the encoder was opened."""
        with self._lock:
            return CacheStatistics(self._hits, self._misses, len(self._vectors), self._capacity)

    def encode(self, texts: Sequence[str]) -> Vector:
        """Vectors of texts as they are; none of them is kept."""
        return self._encoder.encode(texts)

    def encode_request(self, request: str) -> Vector:
        """The vector of one request, shape (dim,)."""
        vector: Vector = self.encode_requests([request])[0]
        return vector

    def encode_requests(self, requests: Sequence[str]) -> Vector:
        """The vectors of requests, float32 of shape (len(requests), dim)."""
        if not requests:
            return self._encoder.encode_requests(requests)
        keys = {request: _key(request) for request in requests}
        known = self._look_up(keys)
        missing = {request: key for request, key in keys.items() if request not in known}
        for batch in batches(missing, self._batch):
            # Copied: a row would keep its whole batch.
            made = {
                text: vector.copy() for text, vector in zip(batch, self._encoder.encode_requests(batch), strict=True)
            }
            self._enter({missing[text]: vector for text, vector in made.items()})
            known |= made
        return np.stack([known[request] for request in requests])

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> Vector | None:
        """The vectors of a request and of its parts, shape (1 + len(parts), dim); None where the encoder has none."""
        key = _key(f"{request}\0{parts}", b"parts")  # apart from requests, which may hold anything
        with self._lock:
            if (known := self._vectors.get(key)) is not None:
                self._vectors.move_to_end(key)
                self._hits += 1
                return known
        made = self._encoder.encode_parts(request, parts)
        if made is None:
            return None  # what is asked instead is counted there
        made.flags.writeable = False  # others are given the same
        with self._lock:
            self._misses += 1
        self._enter({key: made})
        return made

    def _look_up(self, keys: Mapping[str, bytes]) -> dict[str, Vector]:
        with self._lock:
            known = {request: self._vectors[key] for request, key in keys.items() if key in self._vectors}
            for request in known:
                self._vectors.move_to_end(keys[request])
            self._hits += len(known)
            self._misses += len(keys) - len(known)
        return known

    def _enter(self, vectors: Mapping[bytes, Vector]) -> None:
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)


def with_request_cache(snapshot: Snapshot, capacity: int) -> Snapshot:
    """The snapshot with a cache of `capacity` requests before its encoder; itself where it has none, or 0 are kept."""
    if snapshot.encoder is None or not capacity:
        return snapshot
    return replace(snapshot, encoder=CachedEncoder(snapshot.encoder, capacity))


def request_cache_statistics(snapshot: Snapshot) -> CacheStatistics:
    """Those of a snapshot's request cache; all 0 where it has none."""
    return snapshot.encoder.statistics if isinstance(snapshot.encoder, CachedEncoder) else CacheStatistics()


def _key(text: str, kind: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8"), digest_size=16, person=kind).digest()


def encode_in_batches(encoder: Encoder, texts: Iterable[str]) -> dict[str, Vector]:
    """Return the vectors of texts as they are, without the query prefix, encoded in batches of like length.

    ONNX sessions run on every core at once, each batch on one: a vector does not hang on what runs beside it.
    """
    todo = list(batches(dict.fromkeys(texts)))
    workers = min(len(todo), _cores()) if isinstance(encoder, OnnxEncoder) else 1
    if workers > 1:
        from concurrent.futures import ThreadPoolExecutor  # here: most routers encode one request at a time

        with ThreadPoolExecutor(workers, "quartermaster-encode") as pool:
            made = list(pool.map(encoder.encode, todo))
    else:
        made = [encoder.encode(batch) for batch in todo]
    return {
        text: vector
        for batch, vectors in zip(todo, made, strict=True)
        for text, vector in zip(batch, vectors, strict=True)
    }


def _cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(texts: Iterable[str], most: int = _BATCH) -> Iterator[list[str]]:
    """Texts by length, as many together as a batch may hold."""
    batch: list[str] = []
    for text in sorted(texts, key=len):
        if batch and (len(batch) == most or (len(batch) + 1) * len(text) > _PADDED):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
