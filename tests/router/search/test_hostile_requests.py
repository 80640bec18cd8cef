"""A request of any text costs little."""

import time
import unicodedata

import pytest

from router.errors import RequestInvalid
from router.query.implicit_needs import find_implicit_needs
from router.query.steps import find_steps
from router.search.conversation import user_messages
from router.search.search import MAX_REQUEST, clean_request, step_depth
from router.selection.relevance import tokens
from router.text import terms

UNITS = [
    *("a", "A", "aA", "1", " ", "\n", "\t", ".", "'", "‘", '"', "“", "`", "(", "-", "_", "→", "漢", "\u0301", "\ufdfa"),
    *("a ", "A. ", "a.", "a-", "'a", "! ", '?" ', ", ", " - ", " -> ", " and", ", and get ", "; then ", "e.g. "),
    *("i ", "i also ", "we would ", "also, ", "please ", "could you ", "x" * 64 + " ", "save it to a/", "let a "),
    *("send a ", "sign in ", "mail ", "password: 'x", "write\u00a0to "),
]
_MOST_S = 1.0  # a hundred times what any takes; quadratic time would be minutes


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_read_from_any_request_takes_a_moment(unit: str) -> None:
    text = (unit * MAX_REQUEST)[:MAX_REQUEST]
    begun = time.process_time()
    clean = clean_request(f"a{text}")
    assert len(find_steps(clean).texts) <= 8
    for read in (terms, tokens, find_implicit_needs):
        read(clean)
    assert time.process_time() - begun < _MOST_S


def test_a_request_that_grows_when_it_is_normalized_is_cut_again() -> None:
    clean = clean_request("\ufdfa" * MAX_REQUEST)  # each stands for eighteen
    assert len(clean) == len(unicodedata.normalize("NFKC", clean)) == MAX_REQUEST
    assert clean_request("Ａ") == "Ａ"  # others stay as they are


def test_a_request_nested_without_end_is_refused_with_its_place() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RequestInvalid, match=r"messages\[0\] is \[\[\[\[\[\[\[\.\.\."):
        user_messages(deep)  # type: ignore[arg-type]


@pytest.mark.parametrize(("depth", "expected"), [(101, 31), (1_000, 300), (60, 30), (7, 7)])
def test_a_step_has_three_tenths_of_a_list_thirty_at_least_and_never_more_than_the_request(
    depth: int, expected: int
) -> None:
    assert step_depth(depth) == expected
