"""An encoder with a cache of recent requests' vectors. It encodes the others in batches of similar length."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.encoding.encoder import Encoder, OnnxEncoder, Spans
from router.process import cores, renew_in_child
from router.snapshot.snapshot import Snapshot

Vector = NDArray[np.float32]

# Texts of a batch. See docs/decisions/vectors.md.
_BATCH = 8
# Characters of a padded batch, about a thousand tokens: ONNX Runtime keeps the memory of the largest batch it ran.
_MAX_CHARACTERS = 4_096


class CacheStatistics(msgspec.Struct, frozen=True):
    """Counts of a request cache: look-ups that it answered (`hits`) and that it did not (`misses`), of requests and of
    steps of requests; how many vectors it holds, and how many it may hold."""

    hits: int = 0
    misses: int = 0
    size: int = 0
    capacity: int = 0

    @property
    def hit_rate(self) -> float:
        """Return hits / look-ups; 0 before the first look-up."""
        return self.hits / (self.hits + self.misses) if self.hits else 0.0


class CachedEncoder:
    """An `Encoder` around another one that caches the vectors of `capacity` requests, least recently used first out.

    An entry is a digest of 16 bytes and a vector (1.5 KB at 384 dimensions), or the vectors of a request and its steps;
    no text is kept. Threads may share the cache. Its lock is held to look up and to insert, never while encoding: two
    threads with the same new request both encode it.
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
        """Return the counts since the encoder was opened."""
        with self._lock:
            return CacheStatistics(self._hits, self._misses, len(self._vectors), self._capacity)

    def encode(self, texts: Sequence[str]) -> Vector:
        """Return the vectors of tools' texts, float32 (texts, dim). They are not cached."""
        return self._encoder.encode(texts)

    def encode_request(self, request: str) -> Vector:
        """Return the vector of one request, float32 (dim,)."""
        vector: Vector = self.encode_requests([request])[0]
        return vector

    def encode_requests(self, requests: Sequence[str]) -> Vector:
        """Return the vectors of requests, float32 (requests, dim)."""
        if not requests:
            return self._encoder.encode_requests(requests)
        keys = {request: _digest(request) for request in requests}
        known = self._look_up(keys)
        missing = {request: key for request, key in keys.items() if request not in known}
        for batch in batches(missing, self._batch):
            # Copied, because a row would keep its whole batch in memory.
            encoded = {
                text: vector.copy() for text, vector in zip(batch, self._encoder.encode_requests(batch), strict=True)
            }
            self._insert({missing[text]: vector for text, vector in encoded.items()})
            known |= encoded
        return np.stack([known[request] for request in requests])

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> Vector | None:
        """Return the vectors of a request and its parts, float32 (1 + parts, dim); None where the encoder has none."""
        key = _digest(f"{request}\0{parts}", b"parts")  # `kind` tells it from a request of the same text
        with self._lock:
            if (known := self._vectors.get(key)) is not None:
                self._vectors.move_to_end(key)
                self._hits += 1
                return known
        vectors = self._encoder.encode_parts(request, parts)
        if vectors is None:
            return None  # no miss: the caller encodes the parts as texts, which are counted there
        vectors.flags.writeable = False  # later calls return the same array
        with self._lock:
            self._misses += 1
        self._insert({key: vectors})
        return vectors

    def share_read(self, text: str) -> float:
        """Return the share of a text's letters that the encoder reads. It is not cached."""
        return self._encoder.share_read(text)

    def _look_up(self, keys: Mapping[str, bytes]) -> dict[str, Vector]:
        with self._lock:
            known = {request: self._vectors[key] for request, key in keys.items() if key in self._vectors}
            for request in known:
                self._vectors.move_to_end(keys[request])
            self._hits += len(known)
            self._misses += len(keys) - len(known)
        return known

    def _insert(self, vectors: Mapping[bytes, Vector]) -> None:
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)


def with_request_cache(snapshot: Snapshot, capacity: int) -> Snapshot:
    """Return the snapshot with a cache of `capacity` requests; itself where that is 0, or it has no encoder."""
    if snapshot.encoder is None or not capacity:
        return snapshot
    return replace(snapshot, encoder=CachedEncoder(snapshot.encoder, capacity))


def request_cache_statistics(snapshot: Snapshot) -> CacheStatistics:
    """Return the counts of a snapshot's request cache; all 0 where it has none."""
    return snapshot.encoder.statistics if isinstance(snapshot.encoder, CachedEncoder) else CacheStatistics()


def _digest(text: str, kind: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8"), digest_size=16, person=kind).digest()


def encode_in_batches(encoder: Encoder, texts: Iterable[str]) -> dict[str, Vector]:
    """Return the vectors of tools' texts, by text, encoded in batches of similar length.

    An ONNX encoder runs one batch on each core: a vector does not depend on what runs beside its batch.
    """
    todo = list(batches(dict.fromkeys(texts)))
    workers = min(len(todo), cores()) if isinstance(encoder, OnnxEncoder) else 1
    if workers > 1:
        from concurrent.futures import ThreadPoolExecutor  # here: most routers encode one request at a time

        with ThreadPoolExecutor(workers, "quartermaster-encode") as pool:
            encoded = list(pool.map(encoder.encode, todo))
    else:
        encoded = [encoder.encode(batch) for batch in todo]
    return {
        text: vector
        for batch, vectors in zip(todo, encoded, strict=True)
        for text, vector in zip(batch, vectors, strict=True)
    }


def batches(texts: Iterable[str], size: int = _BATCH) -> Iterator[list[str]]:
    """Yield the texts sorted by length, in batches of at most `size` texts and `_MAX_CHARACTERS` when padded."""
    batch: list[str] = []
    for text in sorted(texts, key=len):
        if batch and (len(batch) == size or (len(batch) + 1) * len(text) > _MAX_CHARACTERS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
