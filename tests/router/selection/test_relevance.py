"""The combined score, by hand and against its definition."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.record import ToolRecord
from router.selection import relevance
from router.selection.relevance import RelevanceQuery, combined_score, token_overlap, tokens
from router.selection.settings import Weights
from tests.support.factories import make_record

REFUND = make_record(
    "create_refund",
    description="Refunds a charge to the customer.",
    categories=("Payments",),
    annotations={"readOnlyHint": True},
)
ASKED = RelevanceQuery(tokens("Refund the refund for customer 42"), "payments")


def signals(record: ToolRecord, asked: RelevanceQuery, cosine: float) -> Mapping[str, float]:
    return relevance.relevance_signals(record, asked, cosine, token_overlap(record, asked.unique))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_weather v2.1", ("get", "weather", "v2", "1")),
        ("Crème brûlée №5", ("crème", "brûlée", "5")),
        ("天気 を調べて!", ("天気", "を調べて")),
        ("listCharges", ("listcharges",)),
        (" _-. ", ()),
    ],
)
def test_tokens_are_runs_of_letters_and_digits_in_lower_case(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected


def test_signals_are_shares_of_what_is_said_in_name_description_and_categories() -> None:
    # refund (name), the and customer (description); "payments" is not said, "read-only" is a tag alone.
    assert token_overlap(REFUND, ASKED.unique) == 3
    found = signals(REFUND, RelevanceQuery(tokens("Refund the refund for customer 42, read payments")), 0.8)
    assert found["lexical"] == pytest.approx(4 / 8)  # refund, the, customer, payments
    assert found["tag"] == pytest.approx(2 / 3)  # read and payments, of payments, read, only
    assert found["category"] == 0
    assert signals(REFUND, RelevanceQuery(tokens("please create a refund")), 0)["name"] == 1
    assert signals(make_record("", categories=("",)), RelevanceQuery((), ""), 0)["name"] == 0


def test_the_combined_score_is_the_weighted_mean_by_hand_of_signals_from_0_to_1() -> None:
    found = signals(REFUND, ASKED, 0.8)
    assert found == {"embed": 0.8, "lexical": 0.5, "tag": 0, "name": 0, "category": 1}
    for weights, score in (
        (Weights(embed=0.7, lexical=0.2, tag=0.05, name=0.05).resolved(), (0.7 * 0.8 + 0.2 * 0.5) / 1.0),
        (Weights(embed=0.5, category=1).resolved(), (0.5 * 0.8 + 1) / 1.5),
        (Weights().resolved(), 0.8),
        (Weights(embed=0).resolved(), 0),
        (Weights(name=0, tag=0).resolved(), 0),
    ):
        assert combined_score(found, weights) == pytest.approx(score)
    assert [signals(REFUND, ASKED, cosine)["embed"] for cosine in (-0.3, 1.2)] == [0, 1]


SHARES = st.none() | st.floats(0, 1)
TEXTS = st.text(max_size=30)
RECORDS = st.builds(make_record, TEXTS, description=TEXTS, categories=st.lists(TEXTS, max_size=3).map(tuple))
QUERIES = st.builds(RelevanceQuery, TEXTS.map(tokens), st.none() | TEXTS)


@given(RECORDS, QUERIES, st.floats(-2, 2), st.builds(Weights, SHARES, SHARES, SHARES, SHARES, SHARES))
def test_every_signal_and_the_score_lie_in_0_to_1(
    record: ToolRecord, query: RelevanceQuery, cosine: float, weights: Weights
) -> None:
    found = signals(record, query, cosine)
    assert all(0 <= value <= 1 for value in found.values())
    assert 0 <= combined_score(found, weights.resolved()) <= 1 + 1e-12
