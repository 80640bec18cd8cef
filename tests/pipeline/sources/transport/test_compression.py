"""A gzip body in pieces of any size: the same text, and whether it was whole."""

import gzip

import pytest
from urllib3.exceptions import DecodeError

from pipeline.sources.transport.compression import Gunzip

TEXT = b"found " * 50
PACKED = gzip.compress(TEXT)


def _fed(packed: bytes, size: int) -> tuple[bytes, bool]:
    gunzip = Gunzip(1_000_000)
    text = b"".join(gunzip.feed(packed[start : start + size]) for start in range(0, len(packed), size))
    return text, gunzip.complete


@pytest.mark.parametrize("size", [1, 1_000])
def test_a_whole_body_is_complete_also_of_two_members_and_with_padding(size: int) -> None:
    assert _fed(PACKED, size) == (TEXT, True)
    assert _fed(PACKED + PACKED, size) == (TEXT * 2, True)
    assert _fed(PACKED + bytes(20), size) == (TEXT, True)


@pytest.mark.parametrize("size", [1, 1_000])
def test_a_body_is_incomplete_at_every_place_where_it_may_break_off(size: int) -> None:
    assert not any(_fed(PACKED[:end], size)[1] for end in range(len(PACKED)))


def test_what_is_no_gzip_is_an_error() -> None:
    with pytest.raises(DecodeError):
        Gunzip(1_000_000).feed(b"plain")
