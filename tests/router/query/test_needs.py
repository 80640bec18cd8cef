"""The needs that a caller states, as they are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.errors import RequestInvalid
from router.query.needs import MAX_NEED, MAX_NEEDS, clean_needs


def test_blank_and_repeated_needs_and_those_that_say_the_request_once_more_are_left_out() -> None:
    hidden = ["\u200b", "find\u200b a person", "find a\u2028person", "...", "?"]
    needs = ["find a person", " ", "", "Find  a\tperson.", "Refund Ann!", "send\na mail", *hidden]
    assert clean_needs(needs, "refund ann") == ("find a person", "send a mail")
    assert clean_needs([], "refund ann") == ()


def test_too_many_needs_are_an_error_with_their_number_and_repeated_ones_do_not_count() -> None:
    needs = [f"need {number}" for number in range(MAX_NEEDS)]
    assert clean_needs([*needs, "need 0"], "x") == tuple(needs)
    with pytest.raises(RequestInvalid, match=f"needs holds 13 needs, at most {MAX_NEEDS} may be"):
        clean_needs([*needs, "one more"], "x")


@given(st.lists(st.text(), max_size=MAX_NEEDS), st.text())
def test_clean_needs_are_short_lines_that_differ_and_stay_as_they_are(needs: list[str], request_: str) -> None:
    cleaned = clean_needs(needs, request_)
    assert all(need.strip() == need and need.splitlines() == [need] and len(need) <= MAX_NEED for need in cleaned)
    assert clean_needs(cleaned, request_) == cleaned and len(set(cleaned)) == len(cleaned)
    "".join(cleaned).encode()


def test_a_huge_need_is_cut() -> None:
    assert clean_needs(["a " * 1_000_000, "\ud800b"], "x") == (("a " * MAX_NEED)[: MAX_NEED - 1], "?b")
