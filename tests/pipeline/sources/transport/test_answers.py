"""What the headers of an answer say of its body."""

import httpx2
import pytest

from pipeline.sources.transport.answers import is_part, next_link


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<https://a.example/2>; rel="next"', "https://a.example/2"),
        ("</2>;rel=next", "/2"),
        ("<?page=2> ; REL = 'NEXT'".replace("'", '"'), "?page=2"),
        ('</1>; rel="prev first", </2>; rel="next last"', "/2"),
        ('</2>; title="a=b; c, <d>"; rel="next"', "/2"),
        ('</2>; title="say \\"x\\", y"; rel="next"', "/2"),
        ("</a;b=c,d?e=f>; rel=next", "/a;b=c,d?e=f"),
        ("<>; rel=next", ""),  # the same address again
        ('</2>; title="; rel=next"', None),
        ('</2>; rel="prev"; rel="next"', None),
        ('</2>; rel="https://a.example/next"', None),
        ("</2>; rel=nextish, </3>", None),
        ('</2>; title="never closed; rel=next', None),
        ("no link; rel=next", None),
        ("", None),
    ],
)
def test_the_next_link_is_the_first_whose_relations_have_the_word(header: str, target: str | None) -> None:
    assert next_link(header) == target


def test_links_in_several_headers_are_one_list() -> None:
    headers = httpx2.Headers([("Link", "</1>; rel=prev"), ("Link", "</3>; rel=next")])
    assert next_link(headers["link"]) == "/3"


@pytest.mark.parametrize(
    ("content_range", "part"),
    [
        ("bytes 0-49/100", True),
        ("items 50-99/100", True),
        ("bytes 50-99/*", True),
        ("bytes 0-99/100", False),
        ("0-99/100", False),
        ("items 0-99/*", False),
        ("", False),
    ],
)
def test_a_range_is_a_part_where_its_numbers_say_so(content_range: str, part: bool) -> None:
    assert is_part(content_range) is part
