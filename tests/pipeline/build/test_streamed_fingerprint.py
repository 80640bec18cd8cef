"""A fingerprint made part by part is the fingerprint of the whole."""

from typing import Any

import pytest

from pipeline.build.streamed_fingerprint import Streamed, streamed_fingerprint
from router.fingerprint import fingerprint

_ITEMS: list[Any] = [["shop/pay", "é"], {"b": 1, "a": [None, 1.5]}, "\ud800", 10**30]


@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_streamed_list_or_object_hashes_as_the_whole_each_time(size: int) -> None:
    items = _ITEMS[:size]
    members = {f'k\u00fc{number}"': item for number, item in enumerate(items)}
    plain = {"z": 1, "items": items, "members": members, "a": {"y": 2, "x": "ü"}}
    streamed = {
        **plain,
        "items": Streamed(lambda: iter(items)),
        "members": Streamed(lambda: sorted(members.items()), is_object=True),
    }
    assert streamed_fingerprint(streamed) == streamed_fingerprint(streamed) == fingerprint(plain)
    assert streamed_fingerprint({}) == fingerprint({})
