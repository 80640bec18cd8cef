"""The request cache: the same vectors, bounded, counted, and nobody waits for another's encoding."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from router import CacheStatistics, Router, SettingsInvalid
from router.encoding.encoder import Spans
from router.snapshot.cached_encoder import CachedEncoder
from tests.support.fake_encoder import FakeEncoder

REQUEST = "give the customer their money back"
TEXTS = ["a", "b", "ab", "ba", "é", "顧客", "abc", "bcd"]


class Counting(FakeEncoder):
    """An encoder whose vectors are the text's length and first character. It records each batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        return np.array([[len(text), ord(text[0])] for text in texts], np.float32).reshape(len(texts), 2)


@given(st.lists(st.lists(st.sampled_from(TEXTS), max_size=6)), st.integers(1, 4), st.integers(1, 3))
def test_vectors_are_those_of_the_encoder_in_any_order(calls: list[list[str]], capacity: int, batch: int) -> None:
    encoder = CachedEncoder(Counting(), capacity, batch)
    for texts in calls:
        assert (encoder.encode_requests(texts) == Counting().encode(texts)).all()
        assert encoder.statistics.size <= encoder.statistics.capacity == capacity
    statistics = encoder.statistics
    assert statistics.hits + statistics.misses == sum(len(set(texts)) for texts in calls)


def test_the_longest_unused_goes_first() -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, 2)
    assert encoder.statistics.hit_rate == 0
    for request in ("a", "b", "a", "c", "a", "b"):
        encoder.encode_request(request)
    assert inner.batches == [["a"], ["b"], ["c"], ["b"]]
    assert encoder.statistics == CacheStatistics(hits=2, misses=4, size=2, capacity=2)
    assert encoder.statistics.hit_rate == pytest.approx(1 / 3)


def test_what_is_lacking_is_encoded_in_batches_of_like_length_each_text_once() -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, 10, batch=2)
    encoder.encode_request("eee")
    encoder.encode_requests(["bb", "a", "eee", "cccc", "a", "ddddd"])
    assert inner.batches == [["eee"], ["a", "bb"], ["cccc", "ddddd"]]
    # Long texts share no batch, for its memory stays taken.
    CachedEncoder(inner, 10, batch=16).encode_requests(["a" * 3000, "b" * 3001, "c" * 10, "d" * 11])
    assert [len(batch) for batch in inner.batches[3:]] == [2, 1, 1]


def test_a_request_with_its_parts_is_kept_as_one_and_taken_for_no_other_request() -> None:
    class Parted(Counting):
        def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
            return self.encode([request, *(request[spans[0][0] : spans[0][1]] for spans in parts)]) if parts else None

    inner, request, parts = Parted(), "ab then c", [[(0, 2)], [(8, 9)]]
    encoder = CachedEncoder(inner, 4)
    encoder.encode_requests([f"{request}\0{parts}"])
    first = encoder.encode_parts(request, parts)
    assert first is not None and first.tolist() == [[9, 97], [2, 97], [1, 99]]
    assert encoder.encode_parts(request, parts) is first and len(inner.batches) == 2
    encoder.encode_requests([request])
    assert (encoder.statistics.hits, encoder.statistics.misses, encoder.statistics.size) == (1, 3, 3)
    assert encoder.encode_parts("ab", []) is None and encoder.statistics.size == 3
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_a_router_keeps_requests_where_it_is_asked_to_and_answers_the_same(snapshot: Path) -> None:
    keeping, plain = Router.open(snapshot, request_cache=9), Router.open(snapshot)
    assert keeping.route(REQUEST) == keeping.route(REQUEST) == plain.route(REQUEST)
    assert keeping.cache == CacheStatistics(hits=1, misses=1, size=1, capacity=9)
    keeping.route(REQUEST, recipe="lexical")
    assert keeping.cache.hits == 1
    assert plain.cache == CacheStatistics()
    for size in (-1, 1.5, True, None):
        with pytest.raises(SettingsInvalid, match="request_cache is"):
            Router.open(snapshot, request_cache=size)  # type: ignore[arg-type]
