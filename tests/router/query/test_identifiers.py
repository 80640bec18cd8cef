"""The identifiers that a request brings."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.query import identifiers, implicit_needs
from router.query.identifiers import find_identifiers
from router.tools.implicit_needs import ImplicitNeed
from tests.support.adversarial import growth


@pytest.mark.parametrize(
    "request_",
    [
        "refund charge ch_3Nf8",
        "open https://example.com/orders/5",
        "close MOB-77",
        "merge !92",
        "what is in 5f0c6f2e-8f1c-4f63-9d0b-2f6f1f3c9a11",
        "delete the post with id 7",
        "track 4711223344",
        "look up B00EXAMPLE1",
    ],
)
def test_an_opaque_identifier_stands_for_any_thing(request_: str) -> None:
    assert find_identifiers(request_).has("anything")


@pytest.mark.parametrize(
    "request_", ["is patient 123 in today", "orders of patient no. 17", "Patients: 44", "patient #9"]
)
def test_a_number_after_a_noun_identifies_that_thing_alone(request_: str) -> None:
    found = find_identifiers(request_)
    assert found.has("patient")
    assert not found.has("film") or "#" in request_


@pytest.mark.parametrize(
    "request_",
    [
        "who directed Titanic",
        "the best films of 1994",
        "ten songs by Bowie",
        "meet at 10:30 on 2026-02-14",
        "top 5 of 2,000",
        "COVID-19 films in UTF-8",
    ],
)
def test_names_years_times_and_counts_identify_nothing(request_: str) -> None:
    assert not find_identifiers(request_).has("film")


def test_a_point_on_earth_is_told_by_its_two_decimals() -> None:
    assert find_identifiers("weather at 48.85, 2.35").point
    assert not find_identifiers("weather in Paris at 10.30").point


def test_a_request_speaks_of_the_callers_own() -> None:
    assert find_identifiers("add it to my playlist").says_mine
    assert not find_identifiers("I like mynah birds").says_mine


@given(st.text(max_size=300), st.text(max_size=20))
def test_any_text_has_an_answer(request_: str, noun: str) -> None:
    assert find_identifiers(request_).has(noun) in (True, False)


def test_no_pattern_over_requests_takes_more_than_linear_time() -> None:
    own = [value for module in (identifiers, implicit_needs) for value in vars(module).values()]
    lazily = map(implicit_needs._compiled, ImplicitNeed)
    patterns = [value for value in (*own, *lazily) if isinstance(value, re.Pattern)]
    assert len(patterns) > 12
    assert [pattern.pattern for pattern in patterns if growth(pattern)[0] > 9] == []
