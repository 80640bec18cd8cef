"""The request cache: the same vectors, bounded, counted, and nobody waits for another's encoding."""

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from(TEXTS), max_size=6)), st.integers(1, 4), st.integers(1, 3))
def test_vectors_are_those_of_the_encoder_whatever_was_asked_before(
    calls: list[list[str]], capacity: int, batch: int
) -> None:
    encoder = CachedEncoder(Counting(), capacity, batch)
    for texts in calls:
        assert (encoder.encode_requests(texts) == Counting().encode(texts)).all()
        assert encoder.statistics.size <= encoder.statistics.capacity == capacity
    statistics = encoder.statistics
    assert statistics.hits + statistics.misses == sum(len(set(texts)) for texts in calls)


def test_the_longest_unused_goes_first() -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, 2)
    for request in ("a", "b", "a", "c", "a", "b"):
        encoder.encode_request(request)
    assert inner.batches == [["a"], ["b"], ["c"], ["b"]]
    assert encoder.statistics == CacheStatistics(hits=2, misses=4, size=2, capacity=2)
    assert encoder.statistics.hit_rate == pytest.approx(1 / 3)


def test_before_the_first_request_the_hit_rate_is_zero() -> None:
    assert CacheStatistics().hit_rate == 0


def test_what_is_lacking_is_encoded_in_batches_of_like_length_each_text_once() -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, 10, batch=2)
    encoder.encode_request("eee")
    encoder.encode_requests(["bb", "a", "eee", "cccc", "a", "ddddd"])
    assert inner.batches == [["eee"], ["a", "bb"], ["cccc", "ddddd"]]


def test_long_texts_share_no_batch_for_its_memory_stays_taken() -> None:
    inner = Counting()
    CachedEncoder(inner, 10, batch=16).encode_requests(["a" * 3000, "b" * 3001, "c" * 10, "d" * 11])
    assert [len(batch) for batch in inner.batches] == [2, 1, 1]


def test_a_request_with_its_parts_is_kept_as_one_and_apart_from_the_request_alone() -> None:
    class Parted(Counting):
        def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
            return self.encode([request, *(request[spans[0][0] : spans[0][1]] for spans in parts)]) if parts else None

    encoder = CachedEncoder(Parted(), 4)
    for _ in range(2):
        found = encoder.encode_parts("ab then c", [[(0, 2)], [(8, 9)]])
        assert found is not None
        assert found.tolist() == [[9, 97], [2, 97], [1, 99]]
    encoder.encode_requests(["ab then c"])
    assert (encoder.statistics.hits, encoder.statistics.misses, encoder.statistics.size) == (1, 2, 2)
    assert encoder.encode_parts("ab", []) is None
    assert encoder.statistics.size == 2


def test_two_threads_encode_at_once() -> None:
    meet = threading.Barrier(2)

    class Meeting(Counting):
        def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
            meet.wait(20)  # broken, if the other were kept out
            return self.encode(requests)

    encoder = CachedEncoder(Meeting(), 4)
    asked = [threading.Thread(target=encoder.encode_request, args=("a",)) for _ in range(2)]
    for thread in asked:
        thread.start()
    for thread in asked:
        thread.join()
    assert not meet.broken
    assert encoder.statistics == CacheStatistics(hits=0, misses=2, size=1, capacity=4)


def test_many_threads_get_the_right_vectors_and_every_look_up_is_counted() -> None:
    encoder = CachedEncoder(Counting(), 8, batch=4)
    wrong = []

    def ask(seed: int) -> None:
        draw = np.random.default_rng(seed)
        for _ in range(200):
            texts = [chr(97 + i) * (1 + i % 5) for i in draw.choice(20, 3, replace=False)]
            if (encoder.encode_requests(texts) != Counting().encode(texts)).any():
                wrong.append(texts)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert encoder.statistics.hits + encoder.statistics.misses == 6 * 200 * 3
    assert encoder.statistics.size <= 8


def test_a_router_keeps_requests_and_says_how_often_it_had_them(snapshot: Path) -> None:
    router = Router.open(snapshot, request_cache=9)
    first, again = router.route(REQUEST), router.route(REQUEST)
    assert first == again
    assert router.cache == CacheStatistics(hits=1, misses=1, size=1, capacity=9)
    router.route(REQUEST, recipe="lexical")
    assert router.cache.hits == 1


def test_unless_asked_for_nothing_is_kept_and_answers_are_the_same(snapshot: Path) -> None:
    router = Router.open(snapshot)
    keeping = Router.open(snapshot, request_cache=1)
    assert router.route(REQUEST, explain=True) == keeping.route(REQUEST, explain=True)
    assert router.cache == CacheStatistics()


@pytest.mark.parametrize("size", [-1, 1.5, True, None])
def test_a_size_out_of_its_range_is_refused_by_name(snapshot: Path, size: int) -> None:
    with pytest.raises(SettingsInvalid, match="request_cache is"):
        Router.open(snapshot, request_cache=size)


class Telling(Counting):
    """An encoder that tells parts: a row for the request and one a part."""

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32]:
        self.batches.append([request])
        return np.stack([np.full(4, row, np.float32) for row in range(1 + len(parts))])


def test_a_request_and_its_parts_are_kept_as_one() -> None:
    inner = Telling()
    encoder = CachedEncoder(inner, 4)
    first = encoder.encode_parts("a, then b", [[(0, 1)], [(8, 9)]])
    assert first is not None and first.shape == (3, 4)
    assert encoder.encode_parts("a, then b", [[(0, 1)], [(8, 9)]]) is first
    assert len(inner.batches) == 1
    assert encoder.statistics == CacheStatistics(hits=1, misses=1, size=1, capacity=4)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_no_request_is_taken_for_the_parts_of_another() -> None:
    encoder = CachedEncoder(Telling(), 4)
    parts = [[(0, 1)], [(8, 9)]]
    encoder.encode_requests([f"a, then b\0{parts}"])
    told = encoder.encode_parts("a, then b", parts)
    assert told is not None and told.shape == (3, 4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_was_forked_while_a_thread_held_the_lock_goes_on() -> None:
    encoder = CachedEncoder(Counting(), 4)
    with encoder._lock:
        child = os.fork()
        if not child:
            signal.alarm(10)
            encoder.encode_request("a")
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
