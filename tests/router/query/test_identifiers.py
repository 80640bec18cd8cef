"""The identifiers that a request brings."""

import re

import pytest

from router.query import identifiers, implicit_needs
from router.query.identifiers import find_identifiers
from router.tools.implicit_needs import ImplicitNeed
from tests.support.adversarial import growth

OPAQUE = [
    *("refund charge ch_3Nf8", "open https://example.com/orders/5", "close MOB-77", "merge !92"),
    *("what is in 5f0c6f2e-8f1c-4f63-9d0b-2f6f1f3c9a11", "delete the post with id 7", "track 4711223344"),
    *("look up B00EXAMPLE1", "patient #9"),
]
OF_A_PATIENT = ["is patient 123 in today", "orders of patient no. 17", "Patients: 44"]
NEITHER = [
    *("who directed Titanic", "the best films of 1994", "ten songs by Bowie", "meet at 10:30 on 2026-02-14"),
    *("top 5 of 2,000", "COVID-19 films in UTF-8", "flights on 20260214"),
]


@pytest.mark.parametrize(
    ("requests", "patient", "anything"),
    [(OPAQUE, True, True), (OF_A_PATIENT, True, False), (NEITHER, False, False)],
)
def test_opaque_identifiers_stand_for_any_thing_numbers_for_their_noun_and_dates_and_counts_for_none(
    requests: list[str], patient: bool, anything: bool
) -> None:
    for request in requests:
        found = find_identifiers(request)
        assert (found.has("patient"), found.has("film")) == (patient, anything), request


def test_a_request_says_a_point_on_earth_and_that_it_speaks_of_the_callers_own() -> None:
    assert find_identifiers("weather at 48.85, 2.35").point
    assert not find_identifiers("weather in Paris at 10.30").point
    assert find_identifiers("add it to my playlist").says_mine
    assert not find_identifiers("I like mynah birds").says_mine


def test_no_pattern_over_requests_takes_more_than_linear_time() -> None:
    own = [value for module in (identifiers, implicit_needs) for value in vars(module).values()]
    found = [*own, *map(implicit_needs._compiled, ImplicitNeed)]
    patterns = [value for value in found if isinstance(value, re.Pattern)]
    assert len(patterns) > 12
    assert [pattern.pattern for pattern in patterns if growth(pattern)[0] > 9] == []
