"""A fingerprint made part by part is the fingerprint of the whole."""

from typing import Any

import pytest

from pipeline.build.streamed_fingerprint import Streamed, streamed_fingerprint
from router.fingerprint import fingerprint

_ITEMS: list[Any] = [["shop/pay", "é"], {"b": 1, "a": [None, 1.5]}, "\ud800", 10**30]


@pytest.mark.parametrize("items", [_ITEMS, _ITEMS[:1], []])
def test_a_streamed_list_hashes_as_the_list(items: list[Any]) -> None:
    plain = {"z": 1, "items": items, "a": {"y": 2, "x": "ü"}}
    assert streamed_fingerprint({**plain, "items": Streamed(lambda: iter(items))}) == fingerprint(plain)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_streamed_object_hashes_as_the_object(size: int) -> None:
    members = {f'k\u00fc{number}"': item for number, item in enumerate(_ITEMS[:size])}
    streamed = Streamed(lambda: sorted(members.items()), is_object=True)
    assert streamed_fingerprint({"members": streamed, "b": []}) == fingerprint({"members": members, "b": []})


def test_it_can_be_hashed_twice_and_an_empty_object_too() -> None:
    value = {"items": Streamed(lambda: map(str, range(3)))}
    assert streamed_fingerprint(value) == streamed_fingerprint(value) == fingerprint({"items": ["0", "1", "2"]})
    assert streamed_fingerprint({}) == fingerprint({})
